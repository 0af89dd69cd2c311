package cli

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"usher/tools/mcp"
	"usher/venue"
)

type mcpLoginCmd struct {
	onServer
	Port int `placeholder:"N" help:"Port of this machine at which the browser comes back, where the server knows one. Default: any that is free."`
}

func (*mcpLoginCmd) Help() string {
	return "It prints the address where you sign in, and waits for the browser to come back. The venue keeps the tokens sealed, renews them, and gives them to that server alone."
}

// Run signs the person in to a server that asks who calls.
func (c *mcpLoginCmd) Run(ctx context.Context, s *streams) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", c.Port))
	if err != nil {
		return misusef("--port %d cannot be used: %w", c.Port, err)
	}
	defer func() { _ = l.Close() }() // the server has, where it served
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		at, err := ask[mcp.Login](ctx, u, "mcp:login", mcp.LoginQuery{Server: c.Server, Redirect: "http://" + l.Addr().String() + callback})
		if err != nil {
			return c.absent(err, "mcp list")
		}
		s.note("Open this address in a browser on this machine, and sign in within " + mcp.LoginTime.String() + ":\n\n  " + s.paint.safe(at.Address) + "\n")
		answer, err := cameBack(ctx, l, at.Address)
		if err != nil {
			return err
		}
		answer.Server, answer.ID = c.Server, at.ID
		done, err := ask[mcp.LoginResult](ctx, u, "mcp:loginEnd", answer)
		if err != nil {
			return err
		}
		text := "signed in to " + done.Server
		if len(done.Scopes) > 0 {
			text += " for " + strings.Join(done.Scopes, ", ")
		}
		return s.answer(c.JSON, done, s.paint.safe(text)+"\n")
	})
}

// callback is where the browser comes back.
const callback = "/callback"

// cameBack waits for the browser to bring back the answer to the question at the address.
// Others who reach the port, without its state, end nothing.
func cameBack(ctx context.Context, l net.Listener, address string) (answer mcp.LoginAnswer, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return answer, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, mcp.LoginTime, errors.New("nobody has signed in within "+mcp.LoginTime.String()))
	defer cancel()
	state, got := u.Query().Get("state"), make(chan mcp.LoginAnswer, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+callback, func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(state)) != 1 {
			http.Error(w, "This is no answer to the question that was asked.", http.StatusBadRequest)
			return
		}
		select {
		case got <- mcp.LoginAnswer{Code: q.Get("code"), State: q.Get("state"), Issuer: q.Get("iss"), Error: q.Get("error")}:
		default: // it was answered already
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintln(w, "Thank you. The command says what came of it; you may close this window.")
	})
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case answer = <-got:
	case <-ctx.Done():
		err = context.Cause(ctx)
	case err = <-failed:
		return answer, err
	}
	leave, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second) // the page arrives
	defer done()
	if srv.Shutdown(leave) != nil {
		_ = srv.Close()
	}
	if serving := <-failed; !errors.Is(serving, http.ErrServerClosed) {
		err = errors.Join(err, serving)
	}
	return answer, err
}

type mcpLogoutCmd struct{ onServer }

// Run forgets the tokens for a server.
func (c *mcpLogoutCmd) Run(ctx context.Context, s *streams) error {
	return c.absent(answer(ctx, s, &c.onVenue, "mcp:logout", mcp.Logout{Server: c.Server}, func(done mcp.Logout) error {
		return s.print(s.paint.safe("signed out of "+done.Server) + "\n")
	}), "mcp list")
}

type mcpQuestionsCmd struct{ onVenue }

// Run lists what servers ask a person.
func (c *mcpQuestionsCmd) Run(ctx context.Context, s *streams) error {
	return withAnswer(ctx, s, &c.onVenue, "mcp:questions", mcp.QuestionQuery{}, func(list mcp.Questions) error {
		if len(list.Questions) == 0 && !c.JSON {
			s.note("No MCP server asks anything.")
			return nil
		}
		var b strings.Builder
		for i := range list.Questions {
			q := &list.Questions[i]
			fmt.Fprintf(&b, "%s  MCP server %s asks, in its own words, until %s:\n", q.ID, q.Server, s.local(time.UnixMilli(q.Expires)).Format(time.TimeOnly))
			for line := range strings.SplitSeq(strings.TrimSpace(q.Message), "\n") {
				fmt.Fprintf(&b, "  %s\n", s.paint.safe(line))
			}
			if q.URL != "" {
				fmt.Fprintf(&b, "  It wants you to go to %s\n", s.paint.safe(q.URL))
			}
			if len(q.Schema) > 0 {
				fmt.Fprintf(&b, "  An answer fits %s\n", s.paint.safe(string(q.Schema)))
			}
		}
		return s.answer(c.JSON, list.Questions, b.String())
	})
}

type mcpAnswerCmd struct {
	onServer
	ID      string `arg:"" help:"Id of the question, as usher mcp questions shows it."`
	Content string `arg:"" optional:"" placeholder:"JSON|@FILE" help:"What you fill in, a JSON object; @FILE reads it from a file. Without it, what the server proposes is taken."`
	Decline bool   `help:"Say no."`
}

// Run answers what a server asks.
func (c *mcpAnswerCmd) Run(ctx context.Context, s *streams) error {
	in := mcp.QuestionAnswer{Server: c.Server, ID: c.ID, Action: "accept"}
	switch {
	case c.Decline && c.Content != "":
		return misusef("what is declined is not filled in: leave out the content, or --decline")
	case c.Decline:
		in.Action = "decline"
	case c.Content != "":
		filled, err := s.object(c.Content)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(filled, &in.Content); err != nil {
			return misuse{err}
		}
	}
	return answer(ctx, s, &c.onVenue, "mcp:answer", in, func(mcp.AnswerResult) error { return s.print("answered\n") })
}
