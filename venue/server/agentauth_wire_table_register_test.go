package server_test

import (
	"strings"
	"time"

	"usher/tools/agentauth/client"
)

// seconds are times from now.
func (w *wire) seconds(n int64) int64 { return w.now().Unix() + n }

// at is a JWT's life.
func (w *wire) at(from, to int64) object {
	return object{"iat": w.seconds(from), "exp": w.seconds(to)}
}

// registers registers by a JWT of the host whose claims are changed.
func registers(change func(w *wire) object) func(w *wire) visitorReply {
	return func(w *wire) visitorReply {
		r := w.send("POST /agent/register", w.registering(change(w)), object{"name": "Bot"})
		w.note(r)
		return r
	}
}

// claiming is [registers] for a change that is always the same.
func claiming(change object) func(w *wire) visitorReply {
	return registers(func(*wire) object { return change })
}

// asking registers with a body.
func asking(body object) func(w *wire) visitorReply {
	return func(w *wire) visitorReply {
		r := w.send("POST /agent/register", w.registering(), body)
		w.note(r)
		return r
	}
}

// limited asks for a transfer within constraints.
func limited(constraints object) object {
	return object{"name": "transfer", "constraints": constraints}
}

func init() {
	cases["GET /.well-known/agent-configuration"] = map[string]func(w *wire) visitorReply{
		"anybody": func(w *wire) visitorReply {
			r := w.send("GET /.well-known/agent-configuration", "", nil)
			endpoints, _ := r.body["endpoints"].(object)
			for _, name := range []string{
				"register", "capabilities", "describe_capability", "execute", "batch_execute", "request_capability", "status",
				"reactivate", "revoke", "revoke_capability", "revoke_host", "rotate_key", "rotate_host_key", "introspect",
			} {
				if at, _ := endpoints[name].(string); !strings.HasPrefix(at, w.url+"/") {
					w.Errorf("endpoint %s is %q, want an absolute URL", name, at)
				}
			}
			if r.body["issuer"] != w.url || r.body["default_location"] != w.url+"/capability/execute" {
				w.Errorf("it says %s", r.text)
			}
			return r
		},
	}
	cases["POST /agent/register"] = map[string]func(w *wire) visitorReply{
		"without a JWT": func(w *wire) visitorReply { return w.send("POST /agent/register", "", object{"name": "Bot"}) },
		"a JWT of an agent": func(w *wire) visitorReply {
			w.active()
			token := w.asAgent()
			w.agent = ""
			return w.send("POST /agent/register", token, object{"name": "Bot"})
		},
		"alg none": func(w *wire) visitorReply {
			id := thumbprint(w.hostKey)
			token := sign(w.T, w.hostKey, object{"alg": "none", "typ": "host+jwt"}, w.claims(object{"iss": id, "host_public_key": client.PublicJWK(public(w.hostKey)), "agent_public_key": client.PublicJWK(public(w.agentKey))}, nil))
			return w.send("POST /agent/register", token[:strings.LastIndexByte(token, '.')+1], object{"name": "Bot"})
		},
		"typ JWT": func(w *wire) visitorReply {
			id := thumbprint(w.hostKey)
			token := sign(w.T, w.hostKey, object{"alg": "EdDSA", "typ": "JWT"}, w.claims(object{"iss": id, "host_public_key": client.PublicJWK(public(w.hostKey)), "agent_public_key": client.PublicJWK(public(w.agentKey))}, nil))
			return w.send("POST /agent/register", token, object{"name": "Bot"})
		},
		"aud of another server": claiming(object{"aud": "https://other.example"}),
		"a life of 61 s":        registers(func(w *wire) object { return w.at(0, 61) }),
		"of the future by 31 s": registers(func(w *wire) object { return w.at(32, 60) }),
		"of the future by 29 s": registers(func(w *wire) object { return w.at(25, 60) }),
		"over for 31 s":         registers(func(w *wire) object { return w.at(-90, -32) }),
		"over for 29 s":         registers(func(w *wire) object { return w.at(-80, -25) }),
		"without a jti":         claiming(object{"jti": nil}),
		"a jti for the second time": func(w *wire) visitorReply {
			token := w.registering()
			w.note(w.must(w.send("POST /agent/register", token, object{"name": "Bot"})))
			return w.send("POST /agent/register", token, object{"name": "Bot"})
		},
		"a jti for the second time after 80 s": func(w *wire) visitorReply {
			token := w.registering()
			w.note(w.must(w.send("POST /agent/register", token, object{"name": "Bot"})))
			w.pass(80 * time.Second)
			return w.send("POST /agent/register", token, object{"name": "Bot"})
		},
		"an iss that is not the thumbprint": claiming(object{"iss": "hst_mine"}),
		"signed by another key": func(w *wire) visitorReply {
			token := w.registering()
			mine := w.hostKey
			w.hostKey = newWireKey(w.T)
			theirs := w.registering()
			w.hostKey = mine
			i := strings.LastIndexByte(token, '.')
			return w.send("POST /agent/register", token[:i]+theirs[strings.LastIndexByte(theirs, '.'):], object{"name": "Bot"})
		},
		"ath of another body":          claiming(object{"ath": "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"}),
		"no key of the agent":          claiming(object{"agent_public_key": nil}),
		"the host's key for the agent": registers(func(w *wire) object { return object{"agent_public_key": client.PublicJWK(public(w.hostKey))} }),
		"a key of another algorithm": claiming(object{"agent_public_key": object{
			"kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
		}}),
		"no name":                           asking(object{}),
		"no JSON":                           func(w *wire) visitorReply { return w.send("POST /agent/register", w.registering(), "name=Bot") },
		"a mode that there is not":          asking(object{"name": "Bot", "mode": "free"}),
		"autonomous":                        asking(object{"name": "Bot", "mode": "autonomous", "capabilities": []any{"read_note"}}),
		"autonomous, beyond what those get": asking(object{"name": "Bot", "mode": "autonomous", "capabilities": []any{"read_note", "transfer"}}),
		"autonomous, of a host of a person": func(w *wire) visitorReply {
			w.active()
			w.another()
			w.agent = ""
			return asking(object{"name": "Bot", "mode": "autonomous"})(w)
		},
		"a capability that there is not":           asking(object{"name": "Bot", "capabilities": []any{"read_note", "fly"}}),
		"an operator of JSON Schema":               asking(object{"name": "Bot", "capabilities": []any{limited(object{"amount": object{"maximum": 5}})}}),
		"the operator eq":                          asking(object{"name": "Bot", "capabilities": []any{limited(object{"amount": object{"eq": 5}})}}),
		"constraints that the server's contradict": asking(object{"name": "Bot", "capabilities": []any{limited(object{"currency": "USD"})}}),
		"a new host":                               func(w *wire) visitorReply { return w.register("read_note") },
		"a host of a person, for the defaults": func(w *wire) visitorReply {
			w.active()
			w.another()
			return w.register("read_note")
		},
		"a host of a person, for nothing": func(w *wire) visitorReply {
			w.active()
			w.another()
			r := w.send("POST /agent/register", w.registering(), object{"name": "Bot", "capabilities": []any{}})
			w.note(r)
			if no := w.execute("read_note", object{"path": "w/notes/a"}); no.code != "capability_not_granted" {
				w.Errorf("an empty list gave the defaults: %d %s", no.status, no.text)
			}
			return r
		},
		"autonomous, for nothing": func(w *wire) visitorReply {
			r := w.send("POST /agent/register", w.registering(), object{"name": "Bot", "mode": "autonomous", "capabilities": []any{}})
			w.note(r)
			if no := w.execute("read_note", object{"path": "w/notes/a"}); no.code != "capability_not_granted" {
				w.Errorf("an empty list gave all: %d %s", no.status, no.text)
			}
			return r
		},
		"a host of a person, without a list": func(w *wire) visitorReply {
			w.active()
			w.another()
			r := w.register()
			w.must(w.execute("read_note", object{"path": "w/notes/a"}))
			return r
		},
		"a host of a person, for more": func(w *wire) visitorReply {
			w.active()
			w.another()
			return w.register("read_note", "transfer")
		},
		"once more while it waits": func(w *wire) visitorReply {
			w.must(w.register("read_note"))
			id, code := w.agent, w.code
			r := w.register("read_note")
			if w.agent != id || w.code == code {
				w.Errorf("it is %s with the code %s, and was %s with %s", w.agent, w.code, id, code)
			}
			return r
		},
		"the key of an agent that is active": func(w *wire) visitorReply {
			w.active()
			return w.send("POST /agent/register", w.registering(), object{"name": "Bot"})
		},
		"more agents than a host may have": func(w *wire) visitorReply {
			w.active()
			for range 2 {
				w.another()
				w.must(w.register("read_note"))
			}
			w.another()
			w.agent = ""
			return w.register("read_note")
		},
		"a host that was revoked": func(w *wire) visitorReply {
			w.active()
			w.must(w.send("POST /host/revoke", w.asHost(), object{}))
			w.another()
			return w.register("read_note")
		},
	}
	cases["GET /agent/status"] = map[string]func(w *wire) visitorReply{
		"its host": func(w *wire) visitorReply {
			w.must(w.register("read_note"))
			return w.send("GET /agent/status?agent_id="+w.agent, w.asHost(), nil)
		},
		"itself": func(w *wire) visitorReply {
			w.active()
			r := w.send("GET /agent/status", w.asAgent(), nil)
			grants, _ := r.body["agent_capability_grants"].([]any)
			for _, g := range grants {
				one, _ := g.(object)
				if one["status"] != "active" || one["created_at"] == nil || one["updated_at"] == nil {
					w.Errorf("a grant is %v", g)
				}
			}
			if len(grants) != 2 {
				w.Errorf("it has %d grants, want 2", len(grants))
			}
			return r
		},
		"its host, without agent_id": func(w *wire) visitorReply { w.active(); return w.send("GET /agent/status", w.asHost(), nil) },
		"another host": func(w *wire) visitorReply {
			w.active()
			id := w.agent
			back := w.elsewhere()
			w.must(w.register("read_note"))
			r := w.send("GET /agent/status?agent_id="+id, w.asHost(), nil)
			back()
			return r
		},
		"an agent, of another": func(w *wire) visitorReply {
			w.active()
			back := w.another()
			w.must(w.register("read_note"))
			id := w.agent
			back()
			return w.send("GET /agent/status?agent_id="+id, w.asAgent(), nil)
		},
		"without a JWT": func(w *wire) visitorReply { w.active(); return w.send("GET /agent/status?agent_id="+w.agent, "", nil) },
		"an agent that there is not": func(w *wire) visitorReply {
			return w.send("GET /agent/status", w.asAgent(object{"sub": "agt_nobody"}), nil)
		},
		"a jti for the second time": func(w *wire) visitorReply { w.active(); return w.twice("GET /agent/status?agent_id="+w.agent, nil) },
		"twice within a second": func(w *wire) visitorReply {
			w.must(w.register("read_note"))
			w.must(w.send("GET /agent/status?agent_id="+w.agent, w.asHost(), nil))
			return w.send("GET /agent/status?agent_id="+w.agent, w.asHost(), nil)
		},
		"after an hour of silence": func(w *wire) visitorReply {
			w.active()
			w.pass(time.Hour + time.Second)
			return w.send("GET /agent/status", w.asAgent(), nil)
		},
		"after a day of work": func(w *wire) visitorReply {
			w.active()
			for range 24*2 - 1 {
				w.pass(30 * time.Minute)
				w.must(w.pay(1))
			}
			w.pass(30*time.Minute + time.Second)
			return w.send("GET /agent/status", w.asAgent(), nil)
		},
	}
}

// twice sends a host JWT a second time.
func (w *wire) twice(request string, body any) visitorReply {
	w.Helper()
	token := w.asHost()
	w.must(w.send(request, token, body))
	return w.send(request, token, body)
}
