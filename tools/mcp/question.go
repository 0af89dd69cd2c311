package mcp

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/caps/value"
	"usher/tools"
	"usher/tools/fault"
	"usher/tools/schema"
)

// AskPerson is the elicitation of a server whose questions go to a person: see
// [Server.Elicitation].
const AskPerson = "ask"

// Bounds of questions.
const (
	maxQuestions = 16 // of a server that wait at once
	maxQuestion  = 16 << 10
)

// question is what a server asks a person in the middle of a call. Its texts are the
// server's own words.
type question struct {
	ID      string          `json:"id"`
	Server  string          `json:"server"`
	From    string          `json:"from" jsonschema:"whose words these are"`
	Message string          `json:"message,omitempty" jsonschema:"for the owner in person, as are the two that follow: it may say what others called"`
	Schema  json.RawMessage `json:"schema,omitempty" jsonschema:"of the content of an answer"`
	URL     string          `json:"url,omitempty" jsonschema:"where the server wants the person to go with a browser"`
	Asked   int64           `json:"asked"` // ms
	Expires int64           `json:"expires" jsonschema:"when the call is given up, in milliseconds since 1970"`
}

// QuestionQuery asks for all questions.
type QuestionQuery struct{}

// Questions are those that wait, the oldest first.
type Questions struct {
	Questions []question `json:"questions"`
}

// QuestionAnswer is what a person says.
type QuestionAnswer struct {
	Server  string         `json:"server" jsonschema:"id of the server in the configuration"`
	ID      string         `json:"id" jsonschema:"the question's id"`
	Action  string         `json:"action" jsonschema:"accept, decline or cancel"`
	Content map[string]any `json:"content,omitempty" jsonschema:"what is filled in, where it is accepted; what is left out is the schema's default"`
}

// AnswerResult says which question was answered.
type AnswerResult struct {
	Server string `json:"server"`
	ID     string `json:"id"`
}

// serverQuestions are the questions of one server.
type serverQuestions struct {
	mu   sync.Mutex
	open map[string]*openQuestion
}

type openQuestion struct {
	question
	answer chan *sdk.ElicitResult
}

// elicit has a person asked what the server asks, and waits for the answer: as long as a
// call may take, and the connection stands.
func (l *link) elicit(hide func(string) string) func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	return func(ctx context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		refuse := func(why string) (*sdk.ElicitResult, error) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: why}
		}
		if at := req.Params.URL; at != "" {
			if u, err := url.Parse(at); err != nil || !l.server.mayShow(u) {
				return refuse("the url is none of https that a person may be sent to")
			}
		}
		now := l.opts.Now()
		q := &openQuestion{answer: make(chan *sdk.ElicitResult, 1)}
		q.question = question{
			ID: strings.ToLower(rand.Text()[:12]), Server: l.server.ID, From: words(l.server.ID), Message: hide(req.Params.Message), URL: hide(req.Params.URL),
			Asked: now.UnixMilli(), Expires: now.Add(l.opts.CallTime).UnixMilli(),
		}
		if req.Params.RequestedSchema != nil {
			raw, err := value.Encode(req.Params.RequestedSchema)
			if err != nil {
				return refuse("the schema is none")
			}
			q.Schema = json.RawMessage(hide(string(raw)))
		}
		if len(q.Message)+len(q.URL)+len(q.Schema) > maxQuestion {
			return refuse("the question is too long")
		}
		l.asking.mu.Lock()
		if len(l.asking.open) >= maxQuestions {
			l.asking.mu.Unlock()
			return refuse("too many questions wait for a person")
		}
		l.asking.open[q.ID] = q
		l.asking.mu.Unlock()
		defer func() {
			l.asking.mu.Lock()
			defer l.asking.mu.Unlock()
			delete(l.asking.open, q.ID)
		}()
		l.log.WarnContext(ctx, "an MCP server asks a person: usher mcp questions shows what", "server", l.server.ID, "question", q.ID)
		timer := time.NewTimer(l.opts.CallTime)
		defer timer.Stop()
		select {
		case a := <-q.answer:
			return a, nil
		case <-timer.C:
		case <-ctx.Done():
		case <-l.context.Done():
		}
		return &sdk.ElicitResult{Action: "cancel"}, nil
	}
}

// questions lists those that wait for the caller.
func (s *Servers) questions(_ context.Context, call tools.Call, _ QuestionQuery) (Questions, error) {
	out, all := Questions{Questions: []question{}}, call.Authority().IsUnbounded()
	for _, e := range s.of(call) {
		e.link.asking.mu.Lock()
		for q := range maps.Values(e.link.asking.open) {
			shown := q.question
			if !all {
				shown.Message, shown.Schema, shown.URL = "", nil, ""
			}
			out.Questions = append(out.Questions, shown)
		}
		e.link.asking.mu.Unlock()
	}
	slices.SortFunc(out.Questions, func(a, b question) int { return cmp.Or(cmp.Compare(a.Asked, b.Asked), strings.Compare(a.ID, b.ID)) })
	return out, nil
}

// answer answers one, once.
func (s *Servers) answer(ctx context.Context, call tools.Call, in QuestionAnswer) (AnswerResult, error) {
	if !call.Authority().IsUnbounded() {
		return AnswerResult{}, fault.New(fault.Refused, "only a person answers: the server asks one")
	}
	if !slices.Contains([]string{"accept", "decline", "cancel"}, in.Action) {
		return AnswerResult{}, fault.New(fault.InvalidInput, "action is accept, decline or cancel")
	}
	e, err := s.find(call, in.Server)
	if err != nil {
		return AnswerResult{}, err
	}
	e.link.asking.mu.Lock()
	defer e.link.asking.mu.Unlock()
	q := e.link.asking.open[in.ID]
	if q == nil {
		return AnswerResult{}, fault.New(fault.NotFound, "MCP server "+in.Server+" asks no such question, or does no more")
	}
	res := &sdk.ElicitResult{Action: in.Action}
	if in.Action == "accept" && q.URL == "" {
		if res.Content = in.Content; res.Content == nil {
			res.Content = map[string]any{}
		}
		if err := q.fits(ctx, res.Content); err != nil {
			return AnswerResult{}, err
		}
	} else if in.Content != nil {
		return AnswerResult{}, fault.New(fault.InvalidInput, "content goes with accept, where the question has a schema")
	}
	q.answer <- res
	delete(e.link.asking.open, in.ID)
	return AnswerResult{in.Server, in.ID}, nil
}

// fits says what is wrong with the content of an answer. What is left out is the default
// of its schema.
func (q *openQuestion) fits(ctx context.Context, content map[string]any) error {
	if len(q.Schema) == 0 {
		return nil
	}
	form, err := schema.Compile(ctx, q.Schema, nil)
	if err != nil {
		return nil //nolint:nilerr // the protocol's library has looked at it, and holds the answer against it
	}
	raw, err := value.Encode(content)
	if err == nil {
		err = form.Validate(ctx, raw, nil)
	}
	if err != nil {
		return fault.New(fault.InvalidInput, "content: "+err.Error())
	}
	return nil
}
