package cli

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
)

// trouble is what the venue says of itself in the background, such as that a
// checkpoint cannot be delivered: a note for each thing, however often it is tried.
type trouble struct {
	*streams
	told sync.Map
}

var _ slog.Handler = (*trouble)(nil)

func (s *streams) log() *trouble { return &trouble{streams: s} }

// Enabled leaves out what nobody needs to act on.
func (*trouble) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// Handle prints the record, unless it was told with other numbers or reasons. A
// turn that fails has no error here: the command tells it.
func (t *trouble) Handle(_ context.Context, r slog.Record) error {
	what, why := r.Message, ""
	for a := range r.Attrs {
		switch {
		case a.Key == "error":
			why = ": " + strings.ReplaceAll(a.Value.String(), "\n", " ")
		case a.Value.Kind() == slog.KindString && !strings.HasSuffix(a.Key, "_id"): // not of a trace
			what += fmt.Sprintf(", %s %s", a.Key, a.Value)
		}
	}
	if _, told := t.told.LoadOrStore(what, true); !told && (why != "" || r.Level >= slog.LevelError) {
		t.warn(what + why)
	}
	return nil
}

// WithAttrs and WithGroup change nothing: nobody here uses them.
func (t *trouble) WithAttrs([]slog.Attr) slog.Handler { return t }

func (t *trouble) WithGroup(string) slog.Handler { return t }
