package runs

import (
	"testing"
	"testing/synctest"
	"time"
)

// Close waits for what the end of a run wakes.
func TestCloseWaitsForWaking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &Book{opts: Options{Grace: time.Minute}}
		b.noteEnd(func(w *work) { w.waking++ })
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			b.Close()
		}()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("Close has returned while an end is told on")
		default:
		}
		b.noteEnd(func(w *work) { w.waking-- })
		<-closed
	})
}
