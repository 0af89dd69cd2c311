package server_test

import (
	"maps"
	"net/http"
	"time"
)

// asks has a host of alice's register another agent that asks her by a method, and returns the
// answer.
func (w *wire) asks(method string) visitorReply {
	w.Helper()
	if w.agent == "" {
		w.active("read_note")
		w.agentKey = newWireKey(w.T)
	}
	r := w.send("POST /agent/register", w.registering(), object{
		"name": "Payer", "capabilities": []any{"read_note", "transfer"}, "reason": "rent", "binding_message": "May-7", "preferred_method": method,
	})
	w.note(r)
	return r
}

// waiting is what stands in a person's approvals.
func (w *wire) waiting(person string) []any {
	w.Helper()
	list, _ := w.must(w.send("GET /agent/ciba/pending", person, nil)).body["requests"].([]any)
	return list
}

// request is the id of the only request that waits for alice.
func (w *wire) request() string {
	w.Helper()
	list := w.waiting(w.alice)
	if len(list) != 1 {
		w.Fatalf("%d requests wait: %v", len(list), list)
	}
	return list[0].(object)["approval_id"].(string)
}

// says has a person answer a request of the approvals by the protocol.
func (w *wire) says(person, id, action string, more object) visitorReply {
	w.Helper()
	body := object{"approval_id": id, "action": action}
	maps.Copy(body, more)
	return w.send("POST /agent/approve-capability", person, body)
}

// pushed checks how a person is said to be asked who is known.
func (w *wire) pushed(r visitorReply, method string) visitorReply {
	w.Helper()
	a, _ := r.body["approval"].(object)
	if a["method"] != method || a["interval"] != 5.0 || a["expires_in"] == nil || a["user_code"] != nil || a["verification_uri"] != nil || a["binding_message"] != "May-7" {
		w.Errorf("the approval is %v", a)
	}
	w.request()
	return r
}

func init() {
	more := map[string]map[string]func(w *wire) visitorReply{
		"POST /agent/register": {
			"a host of a person, by ciba":          func(w *wire) visitorReply { return w.pushed(w.asks("ciba"), "ciba") },
			"a host of a person, by its approvals": func(w *wire) visitorReply { return w.pushed(w.asks("usher_approvals"), "usher_approvals") },
			"a new host, by ciba": func(w *wire) visitorReply {
				r := w.send("POST /agent/register", w.registering(), object{"name": "Bot", "preferred_method": "ciba", "login_hint": "alice"})
				w.note(r)
				if a, _ := r.body["approval"].(object); a["method"] != "device_authorization" || a["user_code"] == nil || len(w.waiting(w.alice)) != 0 {
					w.Errorf("a person hears of a stranger: %s", r.text)
				}
				return r
			},
			"a method that there is not": func(w *wire) visitorReply {
				return w.send("POST /agent/register", w.registering(), object{"name": "Bot", "preferred_method": "letter"})
			},
			"a person asked by ciba all the time": func(w *wire) visitorReply {
				var r visitorReply
				for range 40 {
					if r = w.asks("ciba"); r.status != http.StatusOK {
						break
					}
				}
				w.request() // each took the place of the one before
				return r
			},
		},
		"GET /agent/status": {
			"by ciba, twice within a second": func(w *wire) visitorReply {
				w.asks("ciba")
				w.must(w.send("GET /agent/status?agent_id="+w.agent, w.asHost(), nil))
				return w.send("GET /agent/status?agent_id="+w.agent, w.asHost(), nil)
			},
			"by ciba, once a person has approved": func(w *wire) visitorReply {
				w.asks("ciba")
				w.must(w.says(w.alice, w.request(), "approve", nil))
				w.must(w.pay(1))
				return w.send("GET /agent/status?agent_id="+w.agent, w.asHost(), nil)
			},
		},
		"POST /agent/approve-capability": {
			"what stands in the approvals": func(w *wire) visitorReply {
				w.asks("") // by a code, too
				r := w.says(w.alice, w.request(), "approve", object{"capabilities": []any{object{"name": "transfer", "constraints": object{"amount": object{"max": 10}}}}})
				w.must(w.pay(10))
				if no := w.pay(11); no.code != "constraint_violated" {
					w.Errorf("beyond the limits: %d %s", no.status, no.text)
				}
				if no := w.answer(w.alice, "approve", nil); no.code != "capability_request_already_resolved" {
					w.Errorf("the code lives: %d %s", no.status, no.text)
				}
				return r
			},
			"what stands in another's approvals": func(w *wire) visitorReply { w.asks("ciba"); return w.says(w.bob, w.request(), "approve", nil) },
			"what stands there no more": func(w *wire) visitorReply {
				w.asks("ciba")
				id := w.request()
				w.must(w.says(w.alice, id, "approve", nil))
				return w.says(w.alice, id, "approve", nil)
			},
			"what asked by ciba, after five minutes": func(w *wire) visitorReply {
				w.asks("ciba")
				id := w.request()
				w.pass(6 * time.Minute)
				return w.says(w.alice, id, "approve", nil)
			},
		},
		"GET /agent/ciba/pending": {
			"its person": func(w *wire) visitorReply {
				w.asks("ciba")
				w.request()
				return w.send("GET /agent/ciba/pending", w.alice, nil)
			},
			"somebody else": func(w *wire) visitorReply {
				w.asks("ciba")
				if list := w.waiting(w.bob); len(list) != 0 {
					w.Errorf("bob sees %v", list)
				}
				return w.send("GET /agent/ciba/pending", w.bob, nil)
			},
			"nobody":   func(w *wire) visitorReply { w.asks("ciba"); return w.send("GET /agent/ciba/pending", "", nil) },
			"its host": func(w *wire) visitorReply { w.asks("ciba"); return w.send("GET /agent/ciba/pending", w.asHost(), nil) },
		},
	}
	for request, list := range more {
		if cases[request] == nil {
			cases[request] = map[string]func(w *wire) visitorReply{}
		}
		maps.Copy(cases[request], list)
	}
}
