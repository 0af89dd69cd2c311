//go:build linux

package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"usher/runtime"
	"usher/venue"
	"usher/venue/config"
)

// work says what a working child does. The zero value works one step in one lane.
type work struct {
	Project string
	Name    string        // of this child, and of its notes; another one each time
	Lanes   int           // that work at once
	Steps   int           // of each lane; 0: until For is over, or the child is killed
	For     time.Duration // 0: no bound
	Bulk    int           // notes of a step beside its turn
	Size    int           // bytes of the larger notes
	Skew    time.Duration // of the clock
	Hog     *hog          // takes the process's descriptors, on and off
	Until   string        // it waits at its end until the data folder has a file of this pattern
	Patient bool          // when nothing is acknowledged any more, it says full, reads, and waits for a line
}

// job is the environment's name for a child's [work].
const job = "USHER_FAULTS_WORK"

// worker is a working child.
type worker struct {
	work
	printer
	me, bob *venue.User
	scribe  *venue.Agent

	stalled chan struct{} // holds a token once a lane has given up
}

// workChild opens the venue, works, and closes it. Its exit status is 1 where the venue did not open.
func workChild() int {
	w := &worker{printer: printer{out: os.Stdout}, stalled: make(chan struct{}, 1)}
	if err := json.Unmarshal([]byte(os.Getenv(job)), &w.work); err != nil {
		panic(err)
	}
	if err := w.Hog.bound(); err != nil {
		panic(err)
	}
	v, err := w.open(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		w.fail("open", err)
		return 1
	}
	w.say(claim{Kind: opened})
	stop := w.Hog.start()
	w.all()
	stop()
	end := claim{Kind: closed}
	if err := v.Close(); err != nil {
		end.Text = err.Error()
	}
	w.say(end)
	return 0
}

func (w *worker) open(ctx context.Context) (*venue.Venue, error) {
	c, err := config.Load(filepath.Join(w.Project, "usher.yaml"))
	if err != nil {
		return nil, err
	}
	v, err := venue.Open(ctx, &venue.Options{
		Dir: dataOf(w.Project), Config: c,
		Models: map[string]runtime.Model{"default": runtime.ModelFunc(script)},
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Now:    func() time.Time { return time.Now().Add(w.Skew) },
	})
	if err != nil {
		return nil, err
	}
	if w.me, err = v.User(ctx, "me"); err == nil {
		w.bob, err = v.User(ctx, "bob")
	}
	if err == nil {
		w.scribe, err = w.me.Agent(ctx, "scribe")
	}
	if err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// script is a model that makes the calls that it is told, in one answer, and then says so.
func script(_ context.Context, req *runtime.Request) iter.Seq2[runtime.Chunk, error] {
	return func(yield func(runtime.Chunk, error) bool) {
		last := req.Messages[len(req.Messages)-1]
		var said turn
		if last.Role != runtime.RoleUser || json.Unmarshal([]byte(last.Text), &said) != nil {
			yield(runtime.Chunk{Text: "done"}, nil)
			return
		}
		for i, c := range said.Notes {
			input := mustJSON(map[string]string{"path": c.Path, "value": noteText(c.Seed, c.Size)})
			if !yield(runtime.Chunk{Call: &runtime.CallDelta{Index: i, ID: c.Path, Name: "covia_write", Arguments: string(input)}}, nil) {
				return
			}
		}
	}
}

// turn is what the model is told.
type turn struct {
	N     int     `json:"n"`
	Notes []claim `json:"notes"`
}

// all works in all lanes to their end.
func (w *worker) all() {
	ctx, cancel := context.WithCancel(context.Background())
	if w.For > 0 {
		ctx, cancel = context.WithTimeout(context.Background(), w.For)
	}
	defer cancel()
	again := make(chan struct{})
	var lanes sync.WaitGroup
	for n := range max(w.Lanes, 1) {
		lanes.Go(func() { (&lane{worker: w, name: fmt.Sprintf("%s-%d", w.Name, n), again: again}).steps(ctx) })
	}
	if w.Patient {
		w.wait(ctx)
		close(again)
	}
	lanes.Wait()
	w.until()
}

// until waits for what the venue does by itself.
func (w *worker) until() {
	const often, most = 100 * time.Millisecond, 600
	for range most {
		if found, err := filepath.Glob(filepath.Join(dataOf(w.Project), w.Until)); w.Until == "" || err != nil || len(found) > 0 {
			return
		}
		time.Sleep(often)
	}
	w.fail("wait", fmt.Errorf("no %s came", w.Until))
}

// wait says that nothing is acknowledged any more, reads what there is, and waits until it is told
// to go on.
func (w *worker) wait(ctx context.Context) {
	<-w.stalled
	if _, err := w.me.Invoke(ctx, "covia:read", map[string]string{"path": "w/rules"}); err != nil {
		w.fail("read while full", err)
	}
	w.say(claim{Kind: full})
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		w.fail("wait", err)
	}
}
