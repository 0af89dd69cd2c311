package runs

import (
	"usher/runtime"
	"usher/tools"
)

// notes takes an event of the run's turn into the record.
func (r *Run) notes(seq uint64, ev runtime.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch ev := ev.(type) {
	case runtime.TurnStart:
		r.rec.From = seq
	case runtime.TurnEnd:
		if r.rec.Kind == Turn {
			r.noteTurnEnd(&ev)
		}
	case runtime.TurnRest:
		switch waits := r.waitsOf(ev.Waits); {
		case r.rec.Kind != Turn:
		case r.rec.Paused:
			r.rec.Status, r.rec.Waits, r.rec.Paused = Paused, waits, false
		case waits != nil:
			r.rec.Status, r.rec.Waits = Waiting, waits
		}
	}
}

// tell shows the run's events among the entries.
func (r *Run) tell(entries []runtime.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range entries {
		if e := &entries[i]; e.Run != "" {
			r.publish(eventView{e.Seq, e.Time, e.Event})
		}
	}
}

// noteTurnEnd notes the end of a turn in its record, which is stored with it. What the
// turn answered is in the log.
func (r *Run) noteTurnEnd(end *runtime.TurnEnd) {
	switch {
	case end.Error == "":
		r.rec.Status = Complete
	case end.Code == "stopped":
		r.rec.Status, r.rec.Error = Cancelled, end.Error
	default:
		r.rec.Status, r.rec.Error = Failed, tools.Cut(end.Error)
	}
	spent := r.auth.Meter().Amounts()
	r.rec.Spent = &spent
}

// isUnsaved reports whether the record of a turn is to be written: at its beginning
// and at its end.
func (r *Run) isUnsaved() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rec.Status == r.saved {
		return false
	}
	r.saved = r.rec.Status
	return true
}

// forgets has the record written again: the last write of it failed.
func (r *Run) forgets() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.saved = ""
}
