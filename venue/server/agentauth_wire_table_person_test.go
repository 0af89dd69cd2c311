package server_test

import (
	"fmt"
	"time"
)

// waits registers an agent, for a person to answer.
func waits(w *wire) {
	w.Helper()
	w.must(w.register("read_note", "transfer"))
}

// afterGuesses has alice guess five times.
func afterGuesses(w *wire) {
	w.Helper()
	waits(w)
	for range 5 {
		if r := w.answer(w.alice, "approve", object{"user_code": "AAAA-AAAA"}); r.code != "invalid_user_code" {
			w.Fatalf("a wrong code is %d %s", r.status, r.text)
		}
	}
}

// approving is what alice approves in words of her own.
func approving(words string) func(w *wire) visitorReply {
	return func(w *wire) visitorReply {
		waits(w)
		return w.send("POST /agent/approve-capability", w.alice, fmt.Sprintf(`{"agent_id":%q,"action":"approve","user_code":%q,%s}`, w.agent, w.code, words))
	}
}

func init() {
	cases["POST /agent/approve-capability"] = map[string]func(w *wire) visitorReply{
		"nobody":    func(w *wire) visitorReply { waits(w); return w.answer("", "approve", nil) },
		"all of it": func(w *wire) visitorReply { waits(w); return w.answer(w.alice, "approve", nil) },
		"less than was asked": func(w *wire) visitorReply {
			waits(w)
			r := w.answer(w.alice, "approve", object{"capabilities": []any{limited(object{"amount": object{"max": 10}})}})
			w.must(w.pay(10))
			for name, no := range map[string]visitorReply{"constraint_violated": w.pay(11), "capability_not_granted": w.execute("read_note", object{"path": "w/notes/a"})} {
				if no.code != name {
					w.Errorf("beyond what was approved: %d %s, want %s", no.status, no.text, name)
				}
			}
			return r
		},
		"not at all":                  func(w *wire) visitorReply { waits(w); return w.answer(w.alice, "deny", nil) },
		"an action that there is not": func(w *wire) visitorReply { waits(w); return w.answer(w.alice, "", nil) },
		"without the code":            func(w *wire) visitorReply { waits(w); return w.answer(w.alice, "approve", object{"user_code": ""}) },
		"a wrong code": func(w *wire) visitorReply {
			waits(w)
			return w.answer(w.alice, "approve", object{"user_code": "AAAA-AAAA"})
		},
		"the code after five wrong ones": func(w *wire) visitorReply {
			afterGuesses(w)
			return w.answer(w.alice, "approve", nil)
		},
		"somebody else after five wrong ones": func(w *wire) visitorReply {
			afterGuesses(w)
			return w.answer(w.bob, "approve", nil)
		},
		"after five minutes": func(w *wire) visitorReply {
			waits(w)
			w.pass(5*time.Minute + time.Second)
			return w.answer(w.alice, "approve", nil)
		},
		"for the second time": func(w *wire) visitorReply {
			w.active()
			return w.answer(w.alice, "approve", nil)
		},
		"the code before a new one": func(w *wire) visitorReply {
			waits(w)
			old := w.code
			waits(w)
			return w.answer(w.alice, "approve", object{"user_code": old})
		},
		"a host of somebody else": func(w *wire) visitorReply {
			w.active()
			w.another()
			waits(w)
			return w.answer(w.bob, "approve", nil)
		},
		"an agent that was revoked": func(w *wire) visitorReply {
			waits(w)
			w.must(w.send("POST /agent/revoke", w.asHost(), object{"agent_id": w.agent}))
			return w.answer(w.alice, "approve", nil)
		},
		"limits with an unknown operator": func(w *wire) visitorReply {
			waits(w)
			return w.answer(w.alice, "approve", object{"capabilities": []any{limited(object{"amount": object{"const": 1}})}})
		},
		"limits under another name":         approving(`"capabilities":[{"name":"transfer","constraint":{"amount":{"max":5}}}]`),
		"limits, and the same without them": approving(`"capabilities":[{"name":"transfer","constraints":{"amount":{"max":5}}},"transfer"]`),
		"limits, and null":                  approving(`"capabilities":[{"name":"transfer","constraints":{"amount":{"max":5}},"constraints":null}]`),
		"two lists of capabilities":         approving(`"capabilities":[{"name":"transfer","constraints":{"amount":{"max":5}}}],"Capabilities":null`),
	}
	cases["POST /agent/request-capability"] = map[string]func(w *wire) visitorReply{
		"without a JWT": func(w *wire) visitorReply {
			w.active()
			return w.send("POST /agent/request-capability", "", object{"capabilities": []any{"report"}})
		},
		"its host": func(w *wire) visitorReply {
			w.active()
			return w.send("POST /agent/request-capability", w.asHost(), object{"capabilities": []any{"report"}})
		},
		"more": func(w *wire) visitorReply {
			w.active()
			r := w.ask("report")
			if w.execute("report", nil).code != "capability_not_granted" {
				w.Error("what waits for a person is executed")
			}
			w.must(w.answer(w.alice, "approve", nil))
			w.must(w.execute("report", nil))
			return r
		},
		"a default": func(w *wire) visitorReply {
			w.active("transfer")
			r := w.ask("read_note")
			if w.code == "" || w.execute("read_note", object{"path": "w/notes/a"}).status != 403 {
				w.Error("an escalation is granted without a person (the page Capabilities)")
			}
			return r
		},
		"what it has": func(w *wire) visitorReply { w.active(); return w.ask("transfer") },
		"what it has, with other limits": func(w *wire) visitorReply {
			w.active(limited(object{"amount": object{"max": 5}}))
			return w.ask(limited(object{"amount": object{"max": 6}}))
		},
		"nothing":                        func(w *wire) visitorReply { w.active(); return w.ask() },
		"a capability that there is not": func(w *wire) visitorReply { w.active(); return w.ask("fly") },
		"one that waits":                 func(w *wire) visitorReply { waits(w); return w.ask("report") },
		"one that has expired": func(w *wire) visitorReply {
			w.active()
			w.pass(2 * time.Hour)
			return w.ask("report")
		},
	}
}
