package endpoint

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"time"

	"usher/caps/value"
	"usher/runtime"
)

// MaxAnswer bounds an answer on the wire: bytes. The longest that is made today
// streams in about 20 MiB.
const MaxAnswer = 64 << 20

// maxValues bounds what the values of an answer, or of one piece of a stream, take in
// memory beside their text: bytes. Many small ones take a hundred times what they are on
// the wire, and those of an answer are few.
const maxValues = 16 << 20

// Exchange is one request and its answer. It knows the secrets that were sent, and
// takes them out of whatever the server says.
type Exchange struct {
	form *Form
	now  func() time.Time
	hide func(string) string

	yield func(runtime.Chunk, error) bool
	left  bool   // the consumer did
	named bool   // it is known who answers,
	who   string // and so is it to the consumer where this is empty
}

// Names takes the name of the model that answers, as the server has it; the first
// counts.
func (x *Exchange) Names(model string) {
	if !x.named && model != "" {
		x.named, x.who = true, x.clean(model)
	}
}

// Send passes a piece of the answer on, the first with who answers. An error is
// the end: the consumer has left, and nothing more may be passed on.
func (x *Exchange) Send(c runtime.Chunk) error {
	c.Model, x.who = x.who, ""
	if x.left = x.left || !x.yield(c, nil); x.left {
		return errLeft
	}
	return nil
}

// maxCalls bounds the tool calls of one answer.
const maxCalls = 1024

// MayCall is an error where an answer has more tool calls than it may.
func (x *Exchange) MayCall(calls int) error {
	if calls > maxCalls {
		return x.Format("its answer has more than %d tool calls", maxCalls)
	}
	return nil
}

// fits is an error where data has more values than an answer may.
func (x *Exchange) fits(data []byte) error {
	if value.Weight(data)-int64(len(data)) > maxValues {
		return x.Format("its answer has too many values: they would take more than %d MiB of memory", maxValues>>20)
	}
	return nil
}

// Answer takes one answer while it comes, in one of two ways. Errors of its
// methods are shown without the secrets; those that are none of this package's
// say that the server does not speak the format.
type Answer interface {
	Event(data []byte, mistake bool) (done bool, err error) // the next value of a stream; mistake is an error by its name
	IsWhole() bool                                          // a stream that ends here may, though it did not say so
	Whole(data []byte) error                                // an answer that is one value
	End() error                                             // closes an answer that came completely
}

// receive reads an answer.
func (x *Exchange) receive(body io.Reader, a Answer) error {
	bounded := &io.LimitedReader{R: body, N: MaxAnswer + 1}
	err := x.read(bufio.NewReaderSize(bounded, 16), a) // the smallest: larger reads pass it by
	switch {
	case bounded.N == 0 && !x.left:
		return x.Format("its answer is longer than %d bytes", MaxAnswer)
	case err != nil:
		return err
	}
	return a.End()
}

// read reads an answer up to its end.
func (x *Exchange) read(in *bufio.Reader, a Answer) error {
	first, err := firstByte(in)
	switch {
	case errors.Is(err, io.EOF):
		return Cut(io.ErrUnexpectedEOF)
	case err != nil:
		return cutError(err)
	case first == '{' || first == '[':
		return x.whole(in, a)
	case first == '<':
		return x.Format("it sent a web page: base_url is not the address of an API (it looks like %s)", x.form.Example)
	}
	return x.stream(in, a)
}

func (x *Exchange) stream(in io.Reader, a Answer) error {
	events := x.events(in)
	for begun := false; ; begun = true {
		data, err := events.next()
		switch {
		case errors.Is(err, io.EOF) && a.IsWhole():
			return nil
		case errors.Is(err, io.EOF) && events.strange != "" && !begun:
			return x.Format("check base_url: it sent %s", events.strange)
		case errors.Is(err, io.EOF):
			return Cut(io.ErrUnexpectedEOF)
		case err != nil:
			return err
		}
		if err := x.fits(data); err != nil {
			return err
		}
		if done, err := a.Event(data, events.mistake); done || err != nil {
			return x.unread(err, data)
		}
	}
}

func (x *Exchange) whole(in io.Reader, a Answer) error {
	body, err := io.ReadAll(in)
	if err == nil && half(body) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return cutError(err)
	}
	if err := x.fits(body); err != nil {
		return err
	}
	return x.unread(a.Whole(body), body)
}

// firstByte skips white space, which servers send to keep a connection alive, and
// a byte order mark.
func firstByte(in *bufio.Reader) (byte, error) {
	for {
		c, err := in.ReadByte()
		if err != nil {
			return 0, err
		}
		if !strings.ContainsRune(" \n\r\t", rune(c)) && strings.IndexByte(byteOrderMark, c) < 0 {
			return c, in.UnreadByte()
		}
	}
}

const byteOrderMark = "\uFEFF"
