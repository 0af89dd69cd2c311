package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"usher/venue/store/folder"
)

// place is where checkpoints go beside the store: a file, or a URL.
type place struct {
	file string
	url  *url.URL // nil for a file
}

func parsePlace(text string) (p place, err error) {
	if text != "" && !strings.Contains(text, "://") {
		return place{file: text}, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return p, errors.New("checkpoints go to a file or to an http or https URL")
	}
	return place{url: u}, nil
}

// CheckPlace says what is wrong with a place for checkpoints: it is the path of
// a file, or an http or https URL.
func CheckPlace(text string) error {
	_, err := parsePlace(text)
	return err
}

// String is the file, or where the URL is: the rest of that may be a secret.
func (p place) String() string {
	if p.url != nil {
		return p.url.Scheme + "://" + p.url.Host
	}
	return p.file
}

// PlaceName is a place for checkpoints as it may be shown and logged.
func PlaceName(text string) string {
	p, err := parsePlace(text)
	if err != nil {
		return err.Error()
	}
	return p.String()
}

// put adds a note to the file, or posts it.
func (p place) put(ctx context.Context, client *http.Client, text string) error {
	if p.url == nil {
		return appendFile(p.file, text)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url.String(), strings.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "text/plain; charset=utf-8")
	req.Close = true // the next comes in a minute
	resp, err := client.Do(req)
	if err != nil {
		if of, ok := errors.AsType[*url.Error](err); ok { // repeats the URL, which may hold a password
			err = of.Err
		}
		return err
	}
	defer resp.Body.Close()
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
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	end := []byte{'\n'}
	if size > 0 {
		if _, err := f.ReadAt(end, size-1); err != nil {
			return err
		}
	}
	if end[0] != '\n' {
		text = "\n" + text
	}
	if _, err := f.WriteString(text); err != nil {
		return err
	}
	if err := f.Sync(); err != nil || size > 0 {
		return err
	}
	return folder.Sync(filepath.Dir(path)) // of a new file
}

// enough is the end of a file that has its newest checkpoint.
const enough = 16 << 10

// readPlace reads what a file ends with, most bytes of it; of a URL, and of a file that
// is not there, nothing.
func readPlace(at string, most int64) (string, error) {
	p, err := parsePlace(at)
	if err != nil || p.url != nil {
		return "", err
	}
	f, err := os.Open(p.file)
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
	most = min(most, info.Size())
	text, err := io.ReadAll(io.NewSectionReader(f, info.Size()-most, most))
	return string(text), err
}

// isMissing reports whether a place is a file that is not there.
func isMissing(at string) bool {
	p, err := parsePlace(at)
	if err != nil || p.url != nil {
		return false
	}
	_, err = os.Stat(p.file)
	return errors.Is(err, fs.ErrNotExist)
}

// checkpointsIn yields the checkpoints of this venue in a place, the newest first. What was
// torn in writing is passed over.
func (r *Reader) checkpointsIn(at string, most int64) iter.Seq2[Checkpoint, error] {
	return func(yield func(Checkpoint, error) bool) {
		text, err := readPlace(at, most)
		if err != nil {
			yield(Checkpoint{}, err)
			return
		}
		found := false
		for _, text := range slices.Backward(notes(text, r.venue.String())) {
			if c, err := r.open(text); err == nil {
				if found = true; !yield(c, nil) {
					return
				}
			}
		}
		if !found && strings.TrimSpace(text) != "" {
			yield(Checkpoint{}, anothers(at))
		}
	}
}

func anothers(place string) error {
	return fmt.Errorf("%w: %s has the checkpoints of another ledger: the data folder was probably removed or replaced: restore it from a backup, or name another file under ledger.checkpoints", ErrBroken, place)
}

// Continues checks that the ledger continues the newest checkpoint in each of the
// places that are files. The error wraps [ErrBroken] where it does not.
func (r *Reader) Continues(ctx context.Context, places []string) error {
	h, err := r.readHead(ctx)
	if err != nil {
		return err
	}
	for _, place := range places {
		for c, err := range r.checkpointsIn(place, enough) {
			if err == nil {
				err = r.covers(ctx, h.size, c)
			}
			if err != nil {
				return err
			}
			break
		}
	}
	return nil
}

// Begins checks, before a ledger is made, that none of the places has checkpoints
// of one before it. The error wraps [ErrBroken] where one has.
func Begins(places []string) error {
	for _, at := range places {
		switch text, err := readPlace(at, enough); {
		case err != nil:
			return err
		case strings.TrimSpace(text) != "":
			return anothers(at)
		}
	}
	return nil
}

// courier brings checkpoints to one place outside the store, in the
// background. What fails is tried again until the ledger closes.
type courier struct {
	place
	client http.Client
	log    *slog.Logger

	queue  chan Checkpoint
	last   chan struct{}      // closed when no checkpoint follows
	done   chan struct{}      // closed when the courier has ended
	cancel context.CancelFunc // ends deliveries
}

const (
	maxQueue     = 256              // checkpoints that wait; the newest of them says what the oldest said
	deliverLimit = 10 * time.Second // of one try
	closeLimit   = 5 * time.Second  // of all that is left when the ledger closes
)

func newCourier(to place, log *slog.Logger) *courier {
	return &courier{
		place: to, log: log,
		client: http.Client{Timeout: deliverLimit, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		queue:  make(chan Checkpoint, maxQueue), last: make(chan struct{}), done: make(chan struct{}),
	}
}

// start begins the deliveries, which finish ends.
func (c *courier) start() {
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	go c.run(ctx)
}

// send hands a checkpoint over; it never waits. It is called once at a time.
func (c *courier) send(p Checkpoint) {
	if len(c.queue) == maxQueue {
		select {
		case <-c.queue:
		default: // the courier has just taken it
		}
	}
	c.queue <- p
}

// finish brings what is left, within closeLimit, and ends the courier.
func (c *courier) finish() {
	limit := time.AfterFunc(closeLimit, c.cancel)
	close(c.last)
	<-c.done
	limit.Stop()
	c.cancel()
}

func (c *courier) run(ctx context.Context) {
	defer close(c.done)
	for {
		select {
		case p := <-c.queue:
			c.bring(ctx, p)
		case <-c.last:
			for len(c.queue) > 0 {
				c.bring(ctx, <-c.queue)
			}
			return
		}
	}
}

// bring tries until the checkpoint is there, or the ledger closes and a last
// try has failed.
func (c *courier) bring(ctx context.Context, p Checkpoint) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = time.Second, time.Minute
	for closing := false; ; {
		select {
		case <-c.last:
			closing = true
		default:
		}
		err := c.put(ctx, &c.client, p.Note)
		if err == nil {
			return
		}
		c.log.Warn("checkpoint of the audit ledger not delivered", "to", c.String(), "rows", p.Size, "error", err)
		if closing {
			return
		}
		select {
		case <-time.After(wait.NextBackOff()):
		case <-c.last:
		}
	}
}
