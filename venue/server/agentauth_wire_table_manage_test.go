package server_test

import (
	"encoding/json"
	"time"

	"usher/tools/agentauth/client"
	"usher/venue"
)

// withdraw has a person revoke all that they have delegated.
func (w *wire) withdraw(of *venue.User) {
	w.Helper()
	raw, err := of.Invoke(w.Context(), "ucan:list", object{})
	if err != nil {
		w.Fatal(err)
	}
	var list struct {
		Tokens []struct {
			CID    string `json:"cid"`
			Issuer string `json:"issuer"`
		} `json:"tokens"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		w.Fatal(err)
	}
	n := 0
	for _, one := range list.Tokens {
		if one.Issuer == of.DID().String() {
			if _, err := of.Invoke(w.Context(), "ucan:revoke", object{"cid": one.CID}); err != nil {
				w.Fatal(err)
			}
			n++
		}
	}
	if n == 0 {
		w.Fatalf("ucan:list has no delegation of the person: %s", raw)
	}
}

// byHost sends a request about the agent, signed by its host.
func byHost(request string, before ...func(w *wire)) func(w *wire) visitorReply {
	return func(w *wire) visitorReply {
		if len(before) == 0 {
			w.active()
		}
		for _, do := range before {
			do(w)
		}
		return w.send(request, w.asHost(), object{"agent_id": w.agent})
	}
}

// again sends a JWT of the host a second time.
func again(request string) func(w *wire) visitorReply {
	return func(w *wire) visitorReply { w.active(); return w.twice(request, object{"agent_id": w.agent}) }
}

// byOther is a request of another host.
func byOther(request string) func(w *wire) visitorReply {
	return func(w *wire) visitorReply {
		w.active()
		id := w.agent
		back := w.elsewhere()
		w.must(w.register("read_note"))
		r := w.send(request, w.asHost(), object{"agent_id": id})
		back()
		return r
	}
}

func expired(w *wire)  { w.active(); w.pass(time.Hour + time.Second) }
func revoked(w *wire)  { byHost("POST /agent/revoke")(w) }
func rejected(w *wire) { waits(w); w.must(w.answer(w.alice, "deny", nil)) }

// rotates gives the agent another key.
func (w *wire) rotates(token string) visitorReply {
	w.Helper()
	jwk, take := w.jwk()
	r := w.send("POST /agent/rotate-key", token, object{"agent_id": w.agent, "public_key": jwk})
	if r.status == 200 {
		take()
		w.must(w.pay(1))
	}
	return r
}

// rotatesHost gives the host another key.
func (w *wire) rotatesHost() visitorReply {
	w.Helper()
	key := newWireKey(w.T)
	r := w.send("POST /host/rotate-key", w.asHost(), object{"public_key": client.PublicJWK(public(key))})
	if r.status == 200 {
		w.hostKey = key
		w.must(w.send("GET /agent/status?agent_id="+w.agent, w.asHost(), nil))
		w.must(w.pay(1))
	}
	return r
}

func (w *wire) introspect(credential, token string) visitorReply {
	w.Helper()
	return w.send("POST /agent/introspect", credential, object{"token": token})
}

// tells is an introspection that says whether a token is active.
func (w *wire) tells(r visitorReply, active bool) visitorReply {
	w.Helper()
	if r.body["active"] != active || active && (r.body["agent_id"] != w.agent || r.body["user_id"] == nil) || !active && len(r.body) != 1 {
		w.Errorf("it is told %s, want active %v", r.text, active)
	}
	return r
}

func init() {
	cases["POST /agent/reactivate"] = map[string]func(w *wire) visitorReply{
		"one that has expired": func(w *wire) visitorReply {
			w.active("read_note")
			w.must(w.ask("transfer"))
			w.must(w.answer(w.alice, "approve", nil))
			w.must(w.pay(1))
			w.pass(time.Hour + time.Second)
			r := w.send("POST /agent/reactivate", w.asHost(), object{"agent_id": w.agent})
			if no := w.pay(1); no.status != 403 {
				w.Errorf("what was escalated is still there: %d %s", no.status, no.text)
			}
			w.must(w.execute("read_note", object{"path": "w/notes/a"}))
			return r
		},
		"one that is active":         byHost("POST /agent/reactivate"),
		"one that waits":             byHost("POST /agent/reactivate", waits),
		"one that was revoked":       byHost("POST /agent/reactivate", revoked),
		"one that a person refused":  byHost("POST /agent/reactivate", rejected),
		"older than an agent may be": byHost("POST /agent/reactivate", func(w *wire) { w.active(); w.pass(241 * time.Hour) }),
		"itself": func(w *wire) visitorReply {
			expired(w)
			return w.send("POST /agent/reactivate", w.asAgent(), object{"agent_id": w.agent})
		},
		"of another host":           byOther("POST /agent/reactivate"),
		"a jti for the second time": again("POST /agent/reactivate"),
	}
	cases["POST /agent/revoke"] = map[string]func(w *wire) visitorReply{
		"itself":   func(w *wire) visitorReply { w.active(); return w.send("POST /agent/revoke", w.asAgent(), object{}) },
		"its host": byHost("POST /agent/revoke"),
		"its person": func(w *wire) visitorReply {
			w.active()
			return w.send("POST /agent/revoke", w.alice, object{"agent_id": w.agent})
		},
		"somebody else": func(w *wire) visitorReply {
			w.active()
			return w.send("POST /agent/revoke", w.bob, object{"agent_id": w.agent})
		},
		"nobody": func(w *wire) visitorReply {
			w.active()
			return w.send("POST /agent/revoke", "", object{"agent_id": w.agent})
		},
		"a jti for the second time": func(w *wire) visitorReply {
			w.active()
			back := w.another()
			w.must(w.register("read_note"))
			r := w.twice("POST /agent/revoke", object{"agent_id": w.agent})
			back()
			return r
		},
	}
	cases["POST /agent/revoke-capability"] = map[string]func(w *wire) visitorReply{
		"itself": func(w *wire) visitorReply {
			w.active()
			r := w.send("POST /agent/revoke-capability", w.asAgent(), object{"agent_id": w.agent, "capabilities": []string{"transfer"}})
			if no := w.pay(1); no.code != "grant_revoked" {
				w.Errorf("then it pays: %d %s", no.status, no.text)
			}
			return r
		},
		"nothing": func(w *wire) visitorReply {
			w.active()
			return w.send("POST /agent/revoke-capability", w.asAgent(), object{"agent_id": w.agent})
		},
	}
	cases["POST /agent/rotate-key"] = map[string]func(w *wire) visitorReply{
		"its host": func(w *wire) visitorReply { w.active(); return w.rotates(w.asHost()) },
		"itself":   func(w *wire) visitorReply { w.active(); return w.rotates(w.asAgent()) },
		"then by the old key": func(w *wire) visitorReply {
			w.active()
			old := w.agentKey
			w.must(w.rotates(w.asHost()))
			w.agentKey = old
			return w.pay(1)
		},
		"a key that is somebody's": func(w *wire) visitorReply {
			w.active()
			return w.send("POST /agent/rotate-key", w.asHost(), object{"agent_id": w.agent, "public_key": client.PublicJWK(public(w.hostKey))})
		},
		"a jti for the second time": func(w *wire) visitorReply {
			w.active()
			token := w.asHost()
			w.must(w.rotates(token))
			return w.rotates(token)
		},
	}
	cases["POST /host/rotate-key"] = map[string]func(w *wire) visitorReply{
		"itself": func(w *wire) visitorReply { w.active(); return w.rotatesHost() },
		"then by the old key": func(w *wire) visitorReply {
			w.active()
			old := w.asHost()
			w.must(w.rotatesHost())
			return w.send("GET /agent/status?agent_id="+w.agent, old, nil)
		},
		"an agent": func(w *wire) visitorReply {
			w.active()
			return w.send("POST /host/rotate-key", w.asAgent(), object{"public_key": client.PublicJWK(public(newWireKey(w.T)))})
		},
	}
	cases["POST /host/revoke"] = map[string]func(w *wire) visitorReply{
		"itself, with all its agents": func(w *wire) visitorReply {
			w.active()
			back := w.another()
			w.must(w.register("read_note"))
			back()
			r := w.send("POST /host/revoke", w.asHost(), object{})
			if no := w.pay(1); no.code != "agent_revoked" {
				w.Errorf("then its agent pays: %d %s", no.status, no.text)
			}
			return r
		},
		"its person": func(w *wire) visitorReply {
			w.active()
			return w.send("POST /host/revoke", w.alice, object{"host_id": w.hostID()})
		},
		"somebody else": func(w *wire) visitorReply {
			w.active()
			return w.send("POST /host/revoke", w.bob, object{"host_id": w.hostID()})
		},
		"an agent": func(w *wire) visitorReply { w.active(); return w.send("POST /host/revoke", w.asAgent(), object{}) },
		"a jti for the second time": func(w *wire) visitorReply {
			w.active()
			return w.twice("POST /host/revoke", object{})
		},
	}
	cases["POST /agent/introspect"] = map[string]func(w *wire) visitorReply{
		"a service": func(w *wire) visitorReply {
			w.active(limited(object{"amount": object{"max": 5}}))
			r := w.tells(w.introspect(w.service, w.asAgent()), true)
			grants, _ := r.body["agent_capability_grants"].([]any)
			if one, _ := grants[0].(object); len(grants) != 1 || one["constraints"] == nil {
				w.Errorf("a service is not told of the limits: %s", r.text)
			}
			return r
		},
		"nobody":              func(w *wire) visitorReply { w.active(); return w.introspect("", w.asAgent()) },
		"with another secret": func(w *wire) visitorReply { w.active(); return w.introspect("guess", w.asAgent()) },
		"a token of one that was revoked": func(w *wire) visitorReply {
			revoked(w)
			return w.tells(w.introspect(w.service, w.asAgent()), false)
		},
		"a token that is none": func(w *wire) visitorReply { w.active(); return w.tells(w.introspect(w.service, "none"), false) },
		"a token that then executes": func(w *wire) visitorReply {
			w.active()
			token := w.asAgent()
			for range 2 {
				w.tells(w.introspect(w.service, token), true)
			}
			return w.send("POST /capability/execute", token, object{"capability": "transfer", "arguments": object{"amount": 1, "currency": "EUR"}})
		},
	}
}

// hostID is the id of the host.
func (w *wire) hostID() string {
	w.Helper()
	id, _ := w.must(w.send("GET /agent/status?agent_id="+w.agent, w.asHost(), nil)).body["host_id"].(string)
	return id
}
