package approvals

import (
	"encoding/json"
	"testing"
	"time"

	"usher/tools/approvals"
	"usher/tools/fault"
	"usher/venue/store/memory"
)

// A call that comes to wait for a request just as somebody answers does not undo the answer.
func TestJoiningUndoesNoAnswer(t *testing.T) {
	st := memory.Open()
	t.Cleanup(func() { _ = st.Close() })
	r := New(Options{Store: st.Under(""), Now: time.Now})
	const owner = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"
	seen := record{Request: approvals.Request{ID: "1", Owner: owner, Status: approvals.Pending, Expires: time.Now().Add(time.Hour).UnixMilli()}, Runner: owner}
	answered := seen
	answered.Status, answered.Answer = approvals.Denied, &approvals.Answer{By: owner, Reason: "no"}
	raw, err := json.Marshal(answered)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Store.Apply(t.Context(), nil, map[string][]byte{requestKey(owner, "1"): raw}, nil); err != nil {
		t.Fatal(err)
	}
	if err := r.joins(t.Context(), &question{key: "run/1.1"}, &seen); fault.Of(err) != fault.Busy {
		t.Errorf("joins() = %v, want that the request was answered", err)
	}
	if now, _, err := r.find(t.Context(), owner, "1"); err != nil || now.Status != approvals.Denied || now.Answer == nil {
		t.Errorf("the request is %s, %v", now.Status, err)
	}
}
