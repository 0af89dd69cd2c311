package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// courier brings checkpoints to one place outside the store, in the
// background. What fails is tried again until the ledger closes.
type courier struct {
	place string // for people
	file  string // or client and url
	url   string
	http  *http.Client
	log   *slog.Logger

	cancel context.CancelFunc // ends deliveries
	news   chan struct{}
	last   chan struct{} // closed when no checkpoint follows
	done   chan struct{} // closed when the courier has ended

	mu    sync.Mutex
	queue []Checkpoint
}

const (
	maxQueue     = 256              // checkpoints that wait; the newest of them says what the oldest said
	deliverLimit = 10 * time.Second // of one try
	closeLimit   = 5 * time.Second  // of all that is left when the ledger closes
)

// CheckPlace says what is wrong with a place for checkpoints: it is the path of
// a file, or an http or https URL.
func CheckPlace(place string) error {
	if u, isURL := placeURL(place); place == "" || isURL && (u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
		return fmt.Errorf("checkpoints go to a file or to an http or https URL, not to %q", place)
	}
	return nil
}

func placeURL(place string) (u *url.URL, isURL bool) {
	if !strings.Contains(place, "://") {
		return nil, false
	}
	u, err := url.Parse(place)
	if err != nil {
		u = new(url.URL) // without a host
	}
	return u, true
}

func newCourier(place string, log *slog.Logger) (*courier, error) {
	c := &courier{
		place: place, log: log,
		news: make(chan struct{}, 1), last: make(chan struct{}), done: make(chan struct{}),
	}
	if err := CheckPlace(place); err != nil {
		return nil, err
	}
	if u, isURL := placeURL(place); isURL {
		c.place, c.url = u.Redacted(), place
		c.http = &http.Client{Timeout: deliverLimit, Transport: http.DefaultTransport.(*http.Transport).Clone()}
	} else {
		c.file = filepath.Clean(place)
	}
	return c, nil
}

// start begins the deliveries, which finish ends.
func (c *courier) start() {
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	go c.run(ctx)
}

// send hands a checkpoint over; it never waits.
func (c *courier) send(p Checkpoint) {
	c.mu.Lock()
	c.queue = append(c.queue, p)
	if len(c.queue) > maxQueue {
		c.queue = append(c.queue[:0], c.queue[1:]...)
	}
	c.mu.Unlock()
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// finish brings what is left, within closeLimit, and ends the courier.
func (c *courier) finish() {
	limit := time.AfterFunc(closeLimit, c.cancel)
	close(c.last)
	<-c.done
	limit.Stop()
	c.cancel()
	if c.http != nil {
		c.http.CloseIdleConnections()
	}
}

func (c *courier) run(ctx context.Context) {
	defer close(c.done)
	for ended := false; !ended; {
		select {
		case <-c.news:
		case <-c.last:
			ended = true
		}
		for {
			c.mu.Lock()
			if len(c.queue) == 0 {
				c.mu.Unlock()
				break
			}
			p := c.queue[0]
			c.queue = append(c.queue[:0], c.queue[1:]...)
			c.mu.Unlock()
			c.bring(ctx, p)
		}
	}
}

// bring tries until the checkpoint is there, or the ledger closes and a last
// try has failed.
func (c *courier) bring(ctx context.Context, p Checkpoint) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = time.Second, time.Minute
	for {
		closing := c.closing()
		err := c.deliver(ctx, p)
		if err == nil {
			return
		}
		c.log.Warn("checkpoint of the audit ledger not delivered", "to", c.place, "rows", p.Size, "error", err)
		if closing {
			return
		}
		retry := time.NewTimer(wait.NextBackOff())
		select {
		case <-retry.C:
		case <-c.last:
			retry.Stop()
		}
	}
}

func (c *courier) closing() bool {
	select {
	case <-c.last:
		return true
	default:
		return false
	}
}

func (c *courier) deliver(ctx context.Context, p Checkpoint) error {
	if c.file != "" {
		return appendFile(c.file, p.Note)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(p.Note))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "text/plain; charset=utf-8")
	resp, err := c.http.Do(req)
	if err != nil {
		var of *url.Error // repeats the URL, which may hold a password
		if errors.As(err, &of) {
			err = of.Err
		}
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection is used again
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("it answers %s", resp.Status)
	}
	return nil
}

// appendFile adds a note to a file, and returns when it survives a loss of
// power. A last line that was torn stays a line of its own.
func appendFile(path, text string) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	end := make([]byte, 1)
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() > 0 {
		if _, err := f.ReadAt(end, info.Size()-1); err != nil {
			return err
		}
		if end[0] != '\n' {
			text = "\n" + text
		}
	}
	if _, err := f.WriteString(text); err != nil {
		return err
	}
	if err := f.Sync(); err != nil || info.Size() > 0 {
		return err
	}
	return syncFolder(filepath.Dir(path)) // of a new file
}

func syncFolder(path string) error {
	if runtime.GOOS == "windows" { // does not sync folders
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Continues checks that the ledger continues the newest checkpoint in each of the
// places that are files. The error wraps [ErrBroken] where it does not.
func (r *Reader) Continues(ctx context.Context, places []string) error {
	h, err := r.readHead(ctx)
	if err != nil {
		return err
	}
	for _, place := range places {
		c, err := r.newestIn(place)
		if err == nil {
			err = r.covers(ctx, h.size, c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// newestIn is the last checkpoint in a place; zero for a URL, and where there is
// no file. What was torn in writing is passed over.
func (r *Reader) newestIn(place string) (Checkpoint, error) {
	text, err := readEnd(place)
	if err != nil {
		return Checkpoint{}, err
	}
	for _, text := range slices.Backward(notes(text, r.venue.String())) {
		if p, err := r.open(text); err == nil {
			return p, nil
		}
	}
	if strings.TrimSpace(text) != "" {
		return Checkpoint{}, anothers(place)
	}
	return Checkpoint{}, nil
}

func anothers(place string) error {
	return fmt.Errorf("%w: %s has the checkpoints of another ledger: the data folder was probably removed or replaced: restore it from a backup, or name another file under ledger.checkpoints", ErrBroken, place)
}

// Begins checks, before a ledger is made, that none of the places has checkpoints
// of one before it. The error wraps [ErrBroken] where one has.
func Begins(places []string) error {
	for _, place := range places {
		switch text, err := readEnd(place); {
		case err != nil:
			return err
		case strings.TrimSpace(text) != "":
			return anothers(place)
		}
	}
	return nil
}

// readEnd reads what a file ends with, which is many checkpoints; of a URL, and of
// a file that is not there, nothing.
func readEnd(place string) (string, error) {
	if _, isURL := placeURL(place); isURL {
		return "", nil
	}
	f, err := os.Open(place)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	const enough = 16 << 10
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-enough), enough))
	return string(text), err
}

// notes takes a text of notes apart: each begins with the line of the origin.
func notes(text, origin string) (all []string) {
	rest := strings.Trim(text, "\n") + "\n"
	for rest != "\n" && rest != "" {
		end := strings.Index(rest, "\n"+origin+"\n")
		if end < 0 {
			end = len(rest) - 1
		}
		all = append(all, strings.TrimRight(rest[:end], "\n")+"\n")
		rest = rest[end+1:]
	}
	return all
}
