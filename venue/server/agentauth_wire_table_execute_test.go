package server_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"usher/tools/agentauth/client"
	"usher/venue/config"
)

// paid pays, of an agent that may, by a JWT whose claims are changed.
func paid(changes ...object) func(w *wire) visitorReply {
	return func(w *wire) visitorReply {
		w.active()
		return w.pay(1, changes...)
	}
}

// offered are the names of a list.
func offered(r visitorReply) (names []string) {
	list, _ := r.body["capabilities"].([]any)
	for _, c := range list {
		one, _ := c.(object)
		names = append(names, fmt.Sprint(one["name"], one["grant_status"]))
		if one["input"] != nil || one["output"] != nil {
			names = append(names, "with a schema")
		}
	}
	return names
}

// shows is a list that has these names, each with the status of its grant.
func (w *wire) shows(r visitorReply, want ...string) visitorReply {
	w.Helper()
	if got := offered(r); !slices.Equal(got, want) {
		w.Errorf("it lists %q, want %q", got, want)
	}
	return r
}

// within has an agent that may transfer within limits pay with arguments.
func within(limits, arguments object) func(w *wire) visitorReply {
	return func(w *wire) visitorReply {
		w.active(limited(limits))
		r := w.execute("transfer", arguments)
		if v, _ := r.body["violations"].([]any); len(v) != 1 || w.calls.Load() != 0 {
			w.Errorf("%d transfers, violations %v, want none and one", w.calls.Load(), v)
		}
		return r
	}
}

// begun begins a report, and returns where its status is and the JWT.
func (w *wire) begun() (at, token string) {
	w.Helper()
	w.active("report")
	token = w.asAgent(object{"aud": w.url + "/capability/execute"})
	r := w.must(w.send("POST /capability/execute", token, object{"capability": "report"}))
	at, _ = r.body["status_url"].(string)
	return at, token
}

// ended asks for a status until it has ended.
func (w *wire) ended(at string, token func() string) visitorReply {
	w.Helper()
	for {
		r := w.send("GET "+at, token(), nil)
		if r.status != 202 {
			if data, _ := r.body["data"].(object); r.status == 200 && (r.body["status"] != "completed" || data["balance"] != 7.0) {
				w.Errorf("it ends as %s", r.text)
			}
			return r
		}
		if r.header.Get("Retry-After") == "" {
			w.Error("it does not say when to ask again")
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-w.Context().Done():
			w.Fatal("it does not end")
		}
	}
}

func (w *wire) batch(token string, items ...object) visitorReply {
	w.Helper()
	return w.send("POST /capability/batch-execute", token, object{"requests": append([]object{}, items...)})
}

// outcomes are those of a batch.
func outcomes(r visitorReply) (list []string) {
	all, _ := r.body["responses"].([]any)
	for _, item := range all {
		one, _ := item.(object)
		failed, _ := one["error"].(object)
		list = append(list, fmt.Sprint(one["id"], " ", one["status"], " ", failed["code"]))
	}
	return list
}

func item(id, capability string) object {
	return object{"id": id, "capability": capability, "arguments": object{"amount": 1, "currency": "EUR"}}
}

func init() {
	cases["GET /capability/list"] = map[string]func(w *wire) visitorReply{
		"anybody": func(w *wire) visitorReply { return w.shows(w.send("GET /capability/list", "", nil), "read_note<nil>") },
		"a host of a person": func(w *wire) visitorReply {
			w.active()
			return w.shows(w.send("GET /capability/list", w.asHost(), nil), "elsewhere<nil>", "follow<nil>", "read_note<nil>", "report<nil>", "transfer<nil>")
		},
		"an agent": func(w *wire) visitorReply {
			w.active("transfer")
			return w.shows(w.send("GET /capability/list", w.asAgent(), nil), "elsewherenot_granted", "follownot_granted", "read_notenot_granted", "reportnot_granted", "transfergranted")
		},
		"a JWT that is none":    func(w *wire) visitorReply { return w.send("GET /capability/list", "none", nil) },
		"limit 0":               func(w *wire) visitorReply { return w.send("GET /capability/list?limit=0", "", nil) },
		"a cursor that is none": func(w *wire) visitorReply { return w.send("GET /capability/list?cursor=junk", "", nil) },
		"page by page": func(w *wire) visitorReply {
			w.active()
			var all []string
			for at, n := "", 0; n < 9; n++ {
				r := w.must(w.send("GET /capability/list?limit=2&cursor="+at, w.asAgent(), nil))
				all = append(all, offered(r)...)
				if at, _ = r.body["next_cursor"].(string); r.body["has_more"] != true {
					if len(all) != 5 || at != "" {
						w.Errorf("the pages have %q, and then %q", all, at)
					}
					return r
				}
			}
			w.Fatal("the pages have no end")
			return visitorReply{}
		},
	}
	cases["GET /capability/describe"] = map[string]func(w *wire) visitorReply{
		"a public one, by anybody": func(w *wire) visitorReply {
			r := w.send("GET /capability/describe?name=read_note", "", nil)
			if r.body["input"] == nil || r.body["output"] == nil && r.body["input"] == "" {
				w.Errorf("it has no schema: %s", r.text)
			}
			return r
		},
		"another, by anybody": func(w *wire) visitorReply { return w.send("GET /capability/describe?name=transfer", "", nil) },
		"another, by an agent": func(w *wire) visitorReply {
			w.active()
			return w.send("GET /capability/describe?name=transfer", w.asAgent(), nil)
		},
		"a JWT that is none": func(w *wire) visitorReply { return w.send("GET /capability/describe?name=read_note", "none", nil) },
		"no name":            func(w *wire) visitorReply { return w.send("GET /capability/describe", "", nil) },
	}
	cases["POST /capability/execute"] = map[string]func(w *wire) visitorReply{
		"what was granted": func(w *wire) visitorReply {
			r := paid()(w)
			if data, _ := r.body["data"].(object); data["moved"] != 1.0 || w.calls.Load() != 1 {
				w.Errorf("it answers %s after %d transfers", r.text, w.calls.Load())
			}
			return r
		},
		"without a JWT": func(w *wire) visitorReply {
			w.active()
			return w.send("POST /capability/execute", "", object{"capability": "transfer"})
		},
		"its host": func(w *wire) visitorReply {
			w.active()
			return w.send("POST /capability/execute", w.asHost(), object{"capability": "transfer"})
		},
		"an agent that there is not": func(w *wire) visitorReply {
			return w.pay(1, object{"sub": "agt_nobody"})
		},
		"unsigned, in the name of one that waits": func(w *wire) visitorReply {
			waits(w)
			token := w.asAgent()
			return w.send("POST /capability/execute", token[:strings.LastIndexByte(token, '.')+1]+strings.Repeat("A", 86), object{"capability": "transfer"})
		},
		"aud is the URL of execute": func(w *wire) visitorReply {
			w.active()
			return w.pay(1, object{"aud": w.url + "/capability/execute"})
		},
		"aud is a list": func(w *wire) visitorReply {
			w.active()
			return w.pay(1, object{"aud": []string{"https://other.example", w.url}})
		},
		"aud of another server": paid(object{"aud": "https://other.example"}),
		"without iss":           paid(),
		"iss is another host":   paid(object{"iss": "hst_other"}),
		"a jti for the second time": func(w *wire) visitorReply {
			w.active()
			token, body := w.asAgent(), object{"capability": "transfer", "arguments": object{"amount": 1, "currency": "EUR"}}
			w.must(w.send("POST /capability/execute", token, body))
			r := w.send("POST /capability/execute", token, body)
			if w.calls.Load() != 1 {
				w.Errorf("%d transfers", w.calls.Load())
			}
			return r
		},
		"one that waits": func(w *wire) visitorReply { waits(w); return w.pay(1) },
		"one that a person refused": func(w *wire) visitorReply {
			waits(w)
			w.must(w.answer(w.alice, "deny", nil))
			return w.pay(1)
		},
		"one that was revoked": func(w *wire) visitorReply {
			w.active()
			w.must(w.send("POST /agent/revoke", w.asHost(), object{"agent_id": w.agent}))
			return w.pay(1)
		},
		"one that has expired": func(w *wire) visitorReply { w.active(); w.pass(time.Hour + time.Second); return w.pay(1) },
		"older than an agent may be": func(w *wire) visitorReply {
			w.active()
			w.pass(241 * time.Hour)
			return w.pay(1)
		},
		"of a host that was revoked": func(w *wire) visitorReply {
			w.active()
			w.must(w.send("POST /host/revoke", w.asHost(), object{}))
			return w.pay(1)
		},
		"autonomous, of a host that a person approved since": func(w *wire) visitorReply {
			w.autonomous()
			id, key := w.agent, w.agentKey
			w.agentKey = newWireKey(w.T)
			w.active("read_note")
			w.agent, w.agentKey = id, key
			return w.execute("read_note", object{"path": "w/notes/a"})
		},
		"what was not asked for": func(w *wire) visitorReply { w.active("read_note"); return w.pay(1) },
		"what was denied": func(w *wire) visitorReply {
			waits(w)
			w.must(w.answer(w.alice, "approve", object{"capabilities": []any{"read_note"}}))
			return w.pay(1)
		},
		"a default that was not asked for": func(w *wire) visitorReply {
			w.active("transfer")
			return w.execute("read_note", object{"path": "w/notes/a"})
		},
		"what waits for a person": func(w *wire) visitorReply {
			w.active("read_note")
			w.must(w.ask("transfer"))
			return w.pay(1)
		},
		"a capability that there is not": func(w *wire) visitorReply { w.active(); return w.execute("fly", object{}) },
		"one that was removed": func(w *wire) visitorReply {
			w.active()
			cfg, err := config.Parse("usher.yaml", []byte(strings.Replace(configuration, "name: transfer", "name: move", 1)))
			if err == nil {
				err = w.v.Configure(w.Context(), cfg)
			}
			if err != nil {
				w.Fatal(err)
			}
			return w.pay(1)
		},
		"a grant that was revoked": func(w *wire) visitorReply {
			w.active()
			w.must(w.send("POST /agent/revoke-capability", w.asHost(), object{"agent_id": w.agent, "capabilities": []string{"transfer"}}))
			return w.pay(1)
		},
		"a delegation that was revoked": func(w *wire) visitorReply {
			w.active("transfer")
			alice, err := w.v.User(w.Context(), "alice")
			if err != nil {
				w.Fatal(err)
			}
			w.withdraw(alice)
			return w.pay(1)
		},
		"beyond the limits":                   within(object{"amount": object{"max": 5}}, object{"amount": 6, "currency": "EUR"}),
		"without an argument that is limited": within(object{"to": object{"in": []any{"a", "b"}}}, object{"amount": 6, "currency": "EUR"}),
		"a list where a value is excluded":    within(object{"to": object{"not_in": []any{"RUB"}}}, object{"amount": 6, "currency": "EUR", "to": []any{"RUB"}}),
		"a text for a number":                 within(object{"amount": object{"max": 5}}, object{"amount": "1", "currency": "EUR"}),
		"a claim that leaves it out":          paid(object{"capabilities": []string{"read_note"}}),
		"a claim of nothing":                  paid(object{"capabilities": []string{}}),
		"a claim that leaves a limited default out": func(w *wire) visitorReply {
			w.active(object{"name": "read_note", "constraints": object{"path": "w/notes/a"}})
			beyond := object{"path": "w/notes/b"}
			r := w.execute("read_note", beyond, object{"capabilities": []string{"transfer"}})
			if no := w.execute("read_note", beyond); no.code != "constraint_violated" {
				w.Errorf("afterwards the limits are gone: %d %s", no.status, no.text)
			}
			return r
		},
		"without a name":               func(w *wire) visitorReply { w.active(); return w.execute("", object{}) },
		"arguments that are no object": func(w *wire) visitorReply { w.active(); return w.execute("transfer", []any{1}) },
		"what another server executes": func(w *wire) visitorReply { w.active("elsewhere"); return w.execute("elsewhere", object{}) },
		"asynchronously": func(w *wire) visitorReply {
			w.active("report")
			r := w.execute("report", nil)
			if at, _ := r.body["status_url"].(string); r.body["status"] != "pending" || !strings.HasPrefix(at, w.url+"/") || r.header.Get("Retry-After") == "" {
				w.Errorf("it answers %s", r.text)
			}
			return r
		},
		"as a stream": func(w *wire) visitorReply {
			w.active("follow")
			r := w.execute("follow", nil)
			if !strings.HasPrefix(r.header.Get("Content-Type"), "text/event-stream") || !strings.Contains(r.text, "event: done\n") || !strings.Contains(r.text, `"balance":7`) {
				w.Errorf("it streams %s", r.text)
			}
			return r
		},
	}
	cases["GET /capability/status"] = map[string]func(w *wire) visitorReply{
		"by the JWT that began it": func(w *wire) visitorReply {
			at, token := w.begun()
			return w.ended(at, func() string { return token })
		},
		"by a new JWT": func(w *wire) visitorReply {
			at, _ := w.begun()
			return w.ended(at, func() string { return w.asAgent() })
		},
		"by another agent": func(w *wire) visitorReply {
			at, _ := w.begun()
			w.another()
			w.must(w.register("report"))
			w.must(w.answer(w.alice, "approve", nil))
			return w.send("GET "+at, w.asAgent(), nil)
		},
		"without a JWT": func(w *wire) visitorReply { at, _ := w.begun(); return w.send("GET "+at, "", nil) },
		"a job that there is not": func(w *wire) visitorReply {
			w.active()
			return w.send("GET /capability/status/01ARZ3NDEKTSV4RRFFQ69G5FAV", w.asAgent(), nil)
		},
		"once the grant is revoked": func(w *wire) visitorReply {
			at, _ := w.begun()
			w.must(w.send("POST /agent/revoke-capability", w.asHost(), object{"agent_id": w.agent, "capabilities": []string{"report"}}))
			return w.send("GET "+at, w.asAgent(), nil)
		},
	}
	cases["POST /capability/batch-execute"] = map[string]func(w *wire) visitorReply{
		"each by itself": func(w *wire) visitorReply {
			w.active("transfer", "report")
			r := w.batch(w.asAgent(), item("1", "transfer"), item("2", "read_note"), item("3", "report"), item("4", "fly"))
			want := []string{"1 completed <nil>", "2 failed capability_not_granted", "3 failed batch_unsupported_result_type", "4 failed capability_not_found"}
			if got := outcomes(r); !slices.Equal(got, want) {
				w.Errorf("they end as %q, want %q", got, want)
			}
			return r
		},
		"a claim that leaves one out": func(w *wire) visitorReply {
			w.active()
			r := w.batch(w.asAgent(object{"capabilities": []string{"read_note"}}), item("1", "transfer"))
			if got := outcomes(r); !slices.Equal(got, []string{"1 failed capability_not_granted"}) || w.calls.Load() != 0 {
				w.Errorf("they end as %q after %d transfers", got, w.calls.Load())
			}
			return r
		},
		"none": func(w *wire) visitorReply { w.active(); return w.batch(w.asAgent()) },
		"more than 50": func(w *wire) visitorReply {
			w.active()
			return w.batch(w.asAgent(), slices.Repeat([]object{item("1", "transfer")}, 51)...)
		},
		"without a JWT": func(w *wire) visitorReply { w.active(); return w.batch("", item("1", "transfer")) },
	}
}

// key is a public key as the wire has it.
func (w *wire) jwk() (object, func()) {
	key := newWireKey(w.T)
	jwk := client.PublicJWK(public(key))
	return object{"kty": jwk.Kty, "crv": jwk.Crv, "x": jwk.X}, func() { w.agentKey = key }
}
