package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"usher/tools/dialog"
	"usher/tools/fault"
)

// message is a request that may be sent again, with answers to what it was asked.
type message struct {
	method   string
	name     string
	input    json.RawMessage
	token    any // of progress; nil where nobody wants to know
	answers  sdk.InputResponseMap
	returned string // the state that came with them
}

// maxRounds is how often a call in a session asks.
const maxRounds = 8

// methods put the kinds of questions.
var methods = map[dialog.Kind]string{
	dialog.Elicitation: "elicitation/create", dialog.Sampling: "sampling/createMessage", dialog.Roots: "roots/list",
}

// kinds are those of questions that the client of a message answers.
func (c *caller) kinds() (list []dialog.Kind) {
	if c.client == nil {
		return nil
	}
	if c.client.Elicitation != nil {
		list = append(list, dialog.Elicitation)
	}
	if c.client.Sampling != nil { //nolint:staticcheck // a client that still has it
		list = append(list, dialog.Sampling)
	}
	if c.client.RootsV2 != nil || c.client.Roots.ListChanged { //nolint:staticcheck // as above
		list = append(list, dialog.Roots)
	}
	return list
}

// invoke makes a call. Where its handler asks, the client is asked: in a session at once,
// and otherwise by the answer asks, which is the result of the message then.
func (d *desk) invoke(ctx context.Context, c *caller, m *message, st *state, operation string, input json.RawMessage) (out json.RawMessage, asks *answer, err error) {
	answers, err := raw(m.answers)
	if err != nil {
		return nil, nil, err
	}
	given := st.State
	for range maxRounds {
		out, err = c.Invoke(dialog.With(ctx, d.line(ctx, c, m, operation, answers, given)), operation, input)
		needs, ok := errors.AsType[*dialog.Needs](err)
		if !ok {
			return out, nil, err
		}
		if err := c.cannotAsk(needs); err != nil {
			return nil, nil, err
		}
		if c.modern {
			asks, err := d.askResult(c, m, questions(needs), &state{State: needs.State})
			return nil, asks, err
		}
		if answers, err = c.ask(ctx, needs); err != nil {
			return nil, nil, err
		}
		given = needs.State
	}
	return nil, nil, err
}

// line is the line to the client of a message.
func (d *desk) line(ctx context.Context, c *caller, m *message, operation string, answers map[string]json.RawMessage, given string) *dialog.Line {
	return &dialog.Line{
		Operation: operation, Kinds: c.kinds(), Answers: answers, State: given,
		Progress: func(done, total float64, text string) { d.progress(ctx, c, m, done, total, text) },
		Note: func(level string, data any) {
			if c.session == nil {
				return
			}
			d.unheard(ctx, c.session.Log(ctx, &sdk.LoggingMessageParams{Level: sdk.LoggingLevel(level), Data: data})) //nolint:staticcheck // versions before 2026-07-28 have nothing else
		},
	}
}

// progress tells how far a call is.
func (d *desk) progress(ctx context.Context, c *caller, m *message, done, total float64, text string) {
	if m.token != nil && c.session != nil {
		d.unheard(ctx, c.session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: m.token, Progress: done, Total: total, Message: text}))
	}
}

// unheard notes that a client was not told something, as it has gone.
func (d *desk) unheard(ctx context.Context, err error) {
	if err != nil {
		d.logger.DebugContext(ctx, "a client of MCP is not told", "error", err)
	}
}

// cannotAsk says why a client cannot be asked.
func (c *caller) cannotAsk(needs *dialog.Needs) error {
	line, lacks := dialog.Line{Kinds: c.kinds()}, map[string]any{}
	for _, q := range needs.Questions {
		if !line.Takes(q.Kind) {
			lacks[string(q.Kind)] = map[string]any{}
		}
	}
	if len(lacks) == 0 {
		return nil
	}
	if c.modern {
		return lackError(lacks)
	}
	return needs
}

// lackError is the error of a client that did not declare capabilities which the request
// takes.
func lackError(capabilities map[string]any) error {
	data, err := json.Marshal(map[string]any{"requiredCapabilities": capabilities})
	if err != nil {
		return err
	}
	return &jsonrpc.Error{Code: sdk.CodeMissingRequiredClientCapabilities, Message: "the request takes capabilities that the client did not declare", Data: data}
}

// questions are what a handler asks, as a result lists it.
func questions(needs *dialog.Needs) map[string]any {
	list := make(map[string]any, len(needs.Questions))
	for name, q := range needs.Questions {
		list[name] = map[string]any{"method": methods[q.Kind], "params": q.Params}
	}
	return list
}

// askResult is the result that asks.
func (d *desk) askResult(c *caller, m *message, list map[string]any, st *state) (*answer, error) {
	st.Until = time.Now().Add(stateTime).Unix()
	sealed, err := d.seals.seal(st, c, m)
	if err != nil {
		return nil, err
	}
	if len(sealed) > maxState {
		return nil, fault.New(fault.TooLarge, fmt.Sprintf("the operation keeps a state of more than %d bytes with its caller", maxState))
	}
	return answerOf(c, map[string]any{"resultType": "input_required", "inputRequests": list, "requestState": sealed}), nil
}

// digest is that of whose call it is, and of what.
func (m *message) digest(c *caller) []byte {
	return digest(c.DID().String(), m.method, m.name, string(m.input))
}

// operate makes the call that a message is.
func (d *desk) operate(ctx context.Context, c *caller, m *message, operation string) (out json.RawMessage, asks *answer, err error) {
	st, err := d.seals.open(c, m)
	if err != nil {
		return nil, nil, err
	}
	ctx, end := c.present(ctx)
	defer end()
	return d.invoke(ctx, c, m, st, operation, m.input)
}

// ask asks the client of a session.
func (c *caller) ask(ctx context.Context, needs *dialog.Needs) (map[string]json.RawMessage, error) {
	answers := make(map[string]json.RawMessage, len(needs.Questions))
	for name, q := range needs.Questions {
		said, err := c.put(ctx, q)
		if err != nil {
			return nil, fault.New(fault.Refused, "the client does not answer what the operation asks: "+err.Error())
		}
		if answers[name], err = json.Marshal(said); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// put puts one question.
func (c *caller) put(ctx context.Context, q dialog.Question) (any, error) {
	switch q.Kind {
	case dialog.Elicitation:
		params := new(sdk.ElicitParams)
		if err := json.Unmarshal(q.Params, params); err != nil {
			return nil, err
		}
		return c.session.Elicit(ctx, params)
	case dialog.Sampling:
		params := new(sdk.CreateMessageParams) //nolint:staticcheck // versions before 2026-07-28 have nothing else
		if err := json.Unmarshal(q.Params, params); err != nil {
			return nil, err
		}
		return c.session.CreateMessage(ctx, params) //nolint:staticcheck // as above
	case dialog.Roots:
		return c.session.ListRoots(ctx, nil) //nolint:staticcheck // as above
	}
	return nil, fmt.Errorf("questions of the kind %q are none of the protocol", q.Kind)
}

// raw are answers as they came.
func raw(answers sdk.InputResponseMap) (map[string]json.RawMessage, error) {
	if len(answers) == 0 {
		return nil, nil
	}
	list := make(map[string]json.RawMessage, len(answers))
	for name, said := range answers {
		var err error
		if list[name], err = json.Marshal(said); err != nil {
			return nil, err
		}
	}
	return list, nil
}
