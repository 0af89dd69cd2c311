package wrap_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"usher/runtime"
	"usher/runtime/wrap"
	"usher/tools/fault"
)

// Ids of two runs.
const (
	job1, ses1 = "01JD2N3V4W5X6Y7Z8A9BCDEFGH", "01JD2N3V4W5X6Y7Z8A9BCDEFGJ"
	job2, ses2 = "01JD9999999999999999999991", "01JD9999999999999999999992"
)

// told is the request after a tool's result.
func told(result string) *runtime.Request {
	return &runtime.Request{Messages: []runtime.Message{{Role: runtime.RoleUser, Text: "go"}, {Role: runtime.RoleTool, CallID: "c", Text: result}}}
}

func TestReplayWithFreshIDs(t *testing.T) {
	recorded := told(`{"id":"` + job1 + `","sessionId":"bob~` + ses1 + `","again":"` + job1 + `"}`)
	split := len(`{"id":"`) + 9
	arguments := `{"id":"` + job1 + `","in":"` + ses1 + `"}`
	chunks := []runtime.Chunk{
		{Text: "It is " + job1[:20]},
		{Text: job1[20:] + " in " + ses1 + "."},
		{Call: &runtime.CallDelta{ID: "x", Name: "grid_jobResult", Arguments: arguments[:split]}},
		{Call: &runtime.CallDelta{Arguments: arguments[split:]}},
		{Finish: "tool_calls"},
	}
	asked := strings.NewReplacer(job1, job2, ses1, ses2)
	for _, tc := range []struct {
		name    string
		request *runtime.Request
		want    string // of an error
	}{
		{"the ids that were recorded", recorded, ""},
		{"another run's", told(asked.Replace(recorded.Messages[1].Text)), ""},
		{"changed places", told(strings.NewReplacer(job1, ses1, ses1, job1).Replace(recorded.Messages[1].Text)), ""},
		{"one where there were two", told(strings.ReplaceAll(recorded.Messages[1].Text, ses1, job1)), "does not know this request"},
		{"two where there was one", told(strings.Replace(recorded.Messages[1].Text, `"again":"`+job1, `"again":"`+job2, 1)), "does not know this request"},
		{"words like those that stand for ids", told(strings.NewReplacer(job1, "id 1", ses1, "id 2").Replace(recorded.Messages[1].Text)), "does not know this request"},
		{"another text", told(`{"id":"` + job2 + `"}`), "does not know this request"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var cassette bytes.Buffer
			send(t.Context(), wrap.Record(play(act{chunks: chunks}), &cassette, nil), recorded)
			player, err := wrap.Replay(&cassette, nil)
			if err != nil {
				t.Fatal(err)
			}
			got := send(t.Context(), player, tc.request)
			if tc.want != "" {
				if fault.Of(got.err) != fault.NotRecorded || !strings.Contains(got.err.Error(), tc.want) || strings.Contains(got.err.Error(), "\x00") {
					t.Errorf("replay = %q, want %q", got.err, tc.want)
				}
				return
			}
			if got.err != nil {
				t.Fatal(got.err)
			}
			// What the answer names is what this run's request has in the same place.
			ids := strings.Split(strings.NewReplacer(`{"id":"`, "", `","sessionId":"bob~`, " ", `","again":"`, " ").Replace(tc.request.Messages[1].Text), " ")
			here := strings.NewReplacer(job1, ids[0], ses1, ids[1])
			var text, called string
			for _, c := range got.chunks {
				text += c.Text
				if c.Call != nil {
					called += c.Call.Arguments
				}
			}
			want := "It is " + job1 + " in " + ses1 + "."
			if diff := cmp.Diff([]string{here.Replace(want), here.Replace(arguments)}, []string{text, called}); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// A recording measures conversations as a replay can: by an estimate. Summaries
// would otherwise come at other moments.
func TestARecordingDoesNotCount(t *testing.T) {
	var cassette bytes.Buffer
	m := wrap.Record(counting{play(act{chunks: say("hi")})}, &cassette, nil)
	counter, ok := runtime.As[runtime.Counter](m)
	if !ok {
		t.Fatal("As found nothing, want a counter that does not count")
	}
	if n, err := counter.CountTokens(t.Context(), told("x")); err == nil {
		t.Errorf("CountTokens = %d, want an error", n)
	}
}

type counting struct{ runtime.Model }

func (counting) CountTokens(context.Context, *runtime.Request) (int, error) { return 7, nil }
