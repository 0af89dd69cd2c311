package rest

import (
	"net/http"
	"strconv"

	"usher/runtime"
	"usher/venue"
	"usher/venue/runs"
)

// maxPage is the most that a page of sessions, or of what was said in one, has.
const maxPage = 1000

// page reads limit and cursor of a query that takes nothing else.
func page(r *http.Request) (cursor string, limit int, err error) {
	limit = 100
	for name, values := range r.URL.Query() {
		if len(values) > 1 {
			return "", 0, invalid("the query has %s several times: give it once", name)
		}
		switch name {
		case "cursor":
			cursor = values[0]
		case "limit":
			if limit, err = strconv.Atoi(values[0]); err != nil || limit < 1 || limit > maxPage {
				return "", 0, invalid("limit is %.40q: give 1 to %d, or leave it out", values[0], maxPage)
			}
		default:
			return "", 0, invalid("the query has %.40q, which is not known here: it takes limit and cursor", name)
		}
	}
	return cursor, limit, nil
}

// sessionPage is a page of the sessions of an agent.
type sessionPage struct {
	Sessions []runs.Head `json:"sessions"`
	Cursor   string      `json:"cursor,omitempty"`
}

func (f *Face) sessions(p *venue.Principal, w http.ResponseWriter, r *http.Request) error {
	before, limit, err := page(r)
	if err != nil {
		return err
	}
	agent, err := p.Agent(r.Context(), r.PathValue("agentId"))
	if err != nil {
		return err
	}
	list, more, err := agent.SessionPage(r.Context(), before, limit)
	if err != nil {
		return err
	}
	if list == nil {
		list = []runs.Head{}
	}
	return answer(w, http.StatusOK, sessionPage{list, more})
}

// entryPage is a page of what happened in a session.
type entryPage struct {
	Entries []runtime.Entry `json:"entries"`
	Cursor  string          `json:"cursor,omitempty"`
}

// session lists what happened in a session, the oldest first.
func (f *Face) session(p *venue.Principal, w http.ResponseWriter, r *http.Request) error {
	cursor, limit, err := page(r)
	if err != nil {
		return err
	}
	var after uint64
	if cursor != "" {
		if after, err = strconv.ParseUint(cursor, 10, 62); err != nil {
			return invalid("cursor is none that a page returned: leave it out to begin with the first")
		}
	}
	agent, err := p.Agent(r.Context(), r.PathValue("agentId"))
	if err != nil {
		return err
	}
	out := entryPage{Entries: []runtime.Entry{}}
	size := 0
	for e, err := range agent.HistoryAfter(r.Context(), r.PathValue("sessionId"), after) {
		if err != nil {
			return err
		}
		if len(out.Entries) == limit || size > maxPageBytes {
			out.Cursor = strconv.FormatUint(out.Entries[len(out.Entries)-1].Seq, 10)
			break
		}
		raw, err := e.MarshalJSON()
		if err != nil {
			return err
		}
		size += len(raw)
		out.Entries = append(out.Entries, e)
	}
	if len(out.Entries) == 0 && after == 0 {
		return runs.NoSession(agent.ID(), r.PathValue("sessionId"))
	}
	return answer(w, http.StatusOK, out)
}

// maxPageBytes is how much a page has about, in bytes: one event more at most.
const maxPageBytes = 4 << 20
