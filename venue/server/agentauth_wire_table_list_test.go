package server_test

// listed are the ids of a list, which a person reads to its end.
func (w *wire) listed(request, person, field, id string) (ids []string) {
	w.Helper()
	r := w.must(w.send(request, person, nil))
	if r.body["has_more"] != false || r.body["next_cursor"] != nil {
		w.Errorf("a list of few has more: %s", r.text)
	}
	for _, one := range r.body[field].([]any) {
		ids = append(ids, one.(object)[id].(string))
	}
	return ids
}

// mine has alice have one agent, and bob two, and returns alice's host.
func (w *wire) mine() (host string) {
	w.Helper()
	w.active()
	host = w.must(w.send("GET /agent/status?agent_id="+w.agent, w.asHost(), nil)).body["host_id"].(string)
	back := w.elsewhere()
	defer back()
	for range 2 {
		w.must(w.register("transfer"))
		w.must(w.answer(w.bob, "approve", nil))
		w.another()
	}
	return host
}

// expect says that a list is not of the ids that it should be.
func (w *wire) expect(what string, got []string, want ...string) {
	w.Helper()
	if len(got) != len(want) || len(want) == 1 && got[0] != want[0] {
		w.Errorf("%s: %v, want %v", what, got, want)
	}
}

func init() {
	cases["GET /agent/list"] = map[string]func(w *wire) visitorReply{
		"its person": func(w *wire) visitorReply {
			host := w.mine()
			w.expect("alice's", w.listed("GET /agent/list", w.alice, "agents", "agent_id"), w.agent)
			w.expect("of her host", w.listed("GET /agent/list?host_id="+host, w.alice, "agents", "agent_id"), w.agent)
			w.expect("of another", w.listed("GET /agent/list?host_id=hst_none", w.alice, "agents", "agent_id"))
			w.expect("from there on", w.listed("GET /agent/list?cursor="+w.agent, w.alice, "agents", "agent_id"))
			r := w.send("GET /agent/list", w.alice, nil)
			one := r.body["agents"].([]any)[0].(object)
			if one["status"] != "active" || one["host_id"] != host || len(one["agent_capability_grants"].([]any)) != 2 || r.header.Get("Cache-Control") != "no-store" {
				w.Errorf("alice's agent is told as %s, %v", r.text, r.header)
			}
			return r
		},
		"the owner of the configuration": func(w *wire) visitorReply {
			w.mine()
			owner := w.person("owner")
			w.expect("the owner's", w.listed("GET /agent/list", owner, "agents", "agent_id"), "all", "of", "them")
			return w.send("GET /agent/list", owner, nil)
		},
		"somebody else": func(w *wire) visitorReply {
			host := w.mine()
			w.expect("bob's", w.listed("GET /agent/list", w.bob, "agents", "agent_id"), "his", "two")
			w.expect("bob's, of alice's host", w.listed("GET /agent/list?host_id="+host, w.bob, "agents", "agent_id"))
			w.expect("carol's", w.listed("GET /agent/list", w.person("carol"), "agents", "agent_id"))
			return w.send("GET /agent/list", w.person("carol"), nil)
		},
		"its host": func(w *wire) visitorReply { w.active(); return w.send("GET /agent/list", w.asHost(), nil) },
		"nobody":   func(w *wire) visitorReply { w.active(); return w.send("GET /agent/list", "", nil) },
	}
	cases["GET /host/list"] = map[string]func(w *wire) visitorReply{
		"its person": func(w *wire) visitorReply {
			host := w.mine()
			w.expect("alice's", w.listed("GET /host/list", w.alice, "hosts", "host_id"), host)
			w.must(w.send("POST /host/revoke", w.alice, object{"host_id": host}))
			r := w.send("GET /host/list", w.alice, nil)
			if one := r.body["hosts"].([]any)[0].(object); one["status"] != "revoked" {
				w.Errorf("the host is told as %s", r.text)
			}
			return r
		},
		"somebody else": func(w *wire) visitorReply {
			host := w.mine()
			if got := w.listed("GET /host/list", w.bob, "hosts", "host_id"); len(got) != 1 || got[0] == host {
				w.Errorf("bob lists %v, and alice's is %s", got, host)
			}
			w.expect("carol's", w.listed("GET /host/list", w.person("carol"), "hosts", "host_id"))
			return w.send("GET /host/list", w.bob, nil)
		},
		"nobody": func(w *wire) visitorReply { w.active(); return w.send("GET /host/list", "", nil) },
	}
}
