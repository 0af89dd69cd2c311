package a2a

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"usher/venue/runs"
)

// Bounds of a list.
const (
	usualPage = 50
	maxPage   = 100
	maxLooked = 2000    // runs that one request looks at
	maxSize   = 4 << 20 // bytes of what these were given and gave, but for the last
)

// list is a page of tasks, the latest first. A page may have fewer than it could: who goes on
// with its token gets all. totalSize counts the tasks of the pages before and those behind, as
// far as one request looks: there are at least as many.
func (c *call) list() (any, error) {
	var in a2a.ListTasksRequest
	if err := c.read(&in); err != nil {
		return nil, err
	}
	s := shape{in.HistoryLength, in.IncludeArtifacts}
	if err := s.check(); err != nil {
		return nil, err
	}
	if in.PageSize == 0 {
		in.PageSize = usualPage
	}
	if in.PageSize < 1 || in.PageSize > maxPage {
		return nil, errParams.because("pageSize is " + strconv.Itoa(in.PageSize) + ": give 1 to 100")
	}
	if in.Status != "" && !isState(in.Status) {
		return nil, errParams.because("status is no state of a task")
	}
	before, seen, err := readToken(in.PageToken)
	if err != nil {
		return nil, err
	}
	c.brief = true // to look at what each waits for takes many calls
	out := &a2a.ListTasksResponse{Tasks: []*a2a.Task{}, PageSize: in.PageSize}
	full, more, looked, size := false, false, 0, 0
	for rec, err := range c.p.RunsBefore(c.r.Context(), before) {
		if err != nil {
			return nil, err
		}
		if more = looked == maxLooked || size > maxSize; more {
			break
		}
		looked++
		size += len(rec.Input) + len(rec.Output)
		is := c.isListed(&rec, &in)
		if is {
			out.TotalSize++
		}
		if full = full || is && len(out.Tasks) == in.PageSize; full {
			continue
		}
		before = rec.ID
		if is {
			out.Tasks = append(out.Tasks, c.row(&rec, s))
		}
	}
	out.TotalSize += seen
	if full || more {
		out.NextPageToken = before + "." + strconv.Itoa(seen+len(out.Tasks))
	}
	return out, nil
}

// row is a task of a list, of which what was not kept whole is left out.
func (c *call) row(rec *runs.Record, s shape) *a2a.Task {
	t, err := c.task(rec, s)
	if err != nil {
		return &a2a.Task{ID: a2a.TaskID(rec.ID), ContextID: rec.Session, Status: c.status(rec)}
	}
	return t
}

// isListed reports whether a run is a task that is asked for. What agents had others do for a
// task is part of it.
func (c *call) isListed(rec *runs.Record, in *a2a.ListTasksRequest) bool {
	return c.isTask(rec) && rec.Parent == "" &&
		(in.ContextID == "" || rec.Session == in.ContextID) &&
		(in.Status == "" || stateOf(rec) == in.Status) &&
		(in.StatusTimestampAfter == nil || rec.Updated >= in.StatusTimestampAfter.UnixMilli())
}

func isState(s a2a.TaskState) bool {
	return s == a2a.TaskStateSubmitted || slices.Contains(slices.Collect(maps.Values(states)), s)
}

// readToken reads where a page begins, and how many tasks were before it.
func readToken(token string) (before string, seen int, err error) {
	if token == "" {
		return "", 0, nil
	}
	before, n, _ := strings.Cut(token, ".")
	seen, err = strconv.Atoi(n)
	if err != nil || before == "" || seen < 0 {
		return "", 0, errParams.because("pageToken is none that a page returned")
	}
	return before, seen, nil
}
