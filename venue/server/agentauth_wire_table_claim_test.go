package server_test

import (
	"strings"
	"time"
)

// autonomous registers an agent that nobody approves.
func (w *wire) autonomous() {
	w.Helper()
	w.note(w.must(w.send("POST /agent/register", w.registering(), object{"name": "Bot", "mode": "autonomous"})))
}

// claims has the host ask for a person who claims the agent.
func (w *wire) asksClaim() visitorReply {
	w.Helper()
	r := w.send("POST /agent/claim", w.asHost(), object{"agent_id": w.agent, "reason": "it is mine"})
	w.note(r)
	return r
}

// claimed has alice claim an autonomous agent.
func claimed(w *wire) {
	w.Helper()
	w.autonomous()
	w.must(w.asksClaim())
	w.must(w.answer(w.alice, "approve", nil))
}

// newCode has the host ask for another code.
func (w *wire) newCode() visitorReply {
	w.Helper()
	r := w.send("POST /agent/device/code", w.asHost(), object{"agent_id": w.agent})
	if code, ok := r.body["user_code"].(string); ok {
		w.code = code
	}
	return r
}

func init() {
	cases["POST /agent/claim"] = map[string]func(w *wire) visitorReply{
		"an autonomous agent": func(w *wire) visitorReply {
			w.autonomous()
			r := w.asksClaim()
			w.must(w.execute("read_note", object{"path": "w/notes/a"})) // it goes on
			if approval, _ := r.body["approval"].(object); approval["user_code"] == nil || r.body["agent_id"] != w.agent {
				w.Errorf("it says %s", r.text)
			}
			return r
		},
		"and a person approves": func(w *wire) visitorReply {
			w.autonomous()
			w.must(w.asksClaim())
			r := w.answer(w.alice, "approve", nil)
			back := w.another() // the host is alice's now
			if got := w.must(w.register("read_note")); got.body["status"] != "active" || got.body["user_id"] == nil {
				w.Errorf("an agent of the host is %s", got.text)
			}
			back()
			return r
		},
		"then it executes": func(w *wire) visitorReply {
			claimed(w)
			w.pass(30 * time.Hour) // then an agent is forgotten that nobody has claimed
			back := w.elsewhere()
			w.must(w.register("read_note"))
			back()
			return w.execute("read_note", object{"path": "w/notes/a"})
		},
		"and a person denies": func(w *wire) visitorReply {
			w.autonomous()
			w.must(w.asksClaim())
			r := w.answer(w.alice, "deny", nil)
			w.must(w.execute("read_note", object{"path": "w/notes/a"}))
			return r
		},
		"then somebody else answers for the host": func(w *wire) visitorReply {
			w.autonomous()
			first := w.agent
			back := w.another()
			w.must(w.register("read_note")) // before the host is anybody's
			second, code := w.agent, w.code
			back()
			w.must(w.asksClaim())
			w.must(w.answer(w.alice, "approve", nil))
			w.agent, w.code = second, code
			r := w.answer(w.bob, "approve", nil)
			w.agent = first
			return r
		},
		"then another autonomous agent of the host executes": func(w *wire) visitorReply {
			w.autonomous()
			back := w.another()
			w.autonomous()
			second, key := w.agent, w.agentKey
			w.must(w.execute("read_note", object{"path": "w/notes/a"}))
			back()
			w.must(w.asksClaim())
			w.must(w.answer(w.alice, "approve", nil))
			w.agent, w.agentKey = second, key
			return w.execute("read_note", object{"path": "w/notes/a"})
		},
		"one that was claimed": func(w *wire) visitorReply { claimed(w); return w.asksClaim() },
		"one that a person approved": func(w *wire) visitorReply {
			w.active()
			return w.asksClaim()
		},
		"with capabilities": func(w *wire) visitorReply {
			w.autonomous()
			return w.send("POST /agent/claim", w.asHost(), object{"agent_id": w.agent, "capabilities": []string{"transfer"}})
		},
		"one that was revoked": byHost("POST /agent/claim", func(w *wire) { w.autonomous(); byHost("POST /agent/revoke", func(*wire) {})(w) }),
		"itself":               func(w *wire) visitorReply { w.autonomous(); return w.send("POST /agent/claim", w.asAgent(), object{}) },
		"of another host":      byOther("POST /agent/claim"),
		"without a JWT": func(w *wire) visitorReply {
			w.autonomous()
			return w.send("POST /agent/claim", "", object{"agent_id": w.agent})
		},
		"a jti for the second time": func(w *wire) visitorReply {
			w.autonomous()
			return w.twice("POST /agent/claim", object{"agent_id": w.agent})
		},
	}
	cases["POST /agent/device/code"] = map[string]func(w *wire) visitorReply{
		"one that waits": func(w *wire) visitorReply {
			waits(w)
			r := w.newCode()
			for _, name := range []string{"device_code", "user_code", "verification_uri", "verification_uri_complete", "expires_in", "interval"} {
				if r.body[name] == nil {
					w.Errorf("it has no %s: %s", name, r.text)
				}
			}
			if whole, _ := r.body["verification_uri_complete"].(string); !strings.HasSuffix(whole, "&code="+w.code) || !strings.Contains(whole, w.agent) {
				w.Errorf("verification_uri_complete is %s", whole)
			}
			w.must(w.answer(w.alice, "approve", nil))
			w.must(w.pay(1))
			return r
		},
		"then the old code": func(w *wire) visitorReply {
			waits(w)
			old := w.code
			w.must(w.newCode())
			return w.answer(w.alice, "approve", object{"user_code": old})
		},
		"after the old one has expired": func(w *wire) visitorReply {
			waits(w)
			w.pass(6 * time.Minute)
			r := w.newCode()
			w.must(w.answer(w.alice, "approve", nil))
			return r
		},
		"after five wrong codes": func(w *wire) visitorReply {
			afterGuesses(w)
			r := w.newCode()
			if no := w.answer(w.alice, "approve", nil); no.code != "rate_limited" {
				w.Errorf("who guessed goes on at once: %d %s", no.status, no.text)
			}
			w.must(w.answer(w.bob, "approve", nil))
			return r
		},
		"of an escalation": func(w *wire) visitorReply {
			w.active("read_note")
			w.must(w.ask("transfer"))
			r := w.newCode()
			if no := w.answer(w.bob, "approve", nil); no.status/100 == 2 {
				w.Error("another person answers")
			}
			w.must(w.answer(w.alice, "approve", nil))
			w.must(w.pay(1))
			return r
		},
		"one that is active":        byHost("POST /agent/device/code"),
		"one that a person refused": byHost("POST /agent/device/code", rejected),
		"itself": func(w *wire) visitorReply {
			w.active()
			return w.send("POST /agent/device/code", w.asAgent(), object{"agent_id": w.agent})
		},
		"of another host": byOther("POST /agent/device/code"),
		"without a JWT": func(w *wire) visitorReply {
			waits(w)
			return w.send("POST /agent/device/code", "", object{"agent_id": w.agent})
		},
		"a jti for the second time": func(w *wire) visitorReply {
			waits(w)
			return w.twice("POST /agent/device/code", object{"agent_id": w.agent})
		},
	}
}
