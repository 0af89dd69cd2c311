package a2a

import (
	"encoding/json"
	"errors"
	"mime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"usher/caps/value"
	"usher/tools/agents"
	"usher/tools/approvals"
	"usher/tools/fault"
	"usher/tools/pause"
	"usher/venue"
	"usher/venue/face"
	"usher/venue/runs"
)

// delivery is a message that was taken: the task that it began or went to.
type delivery struct {
	rec   *runs.Record
	begun bool // the caller may not look at it: rec is what is known
	shape shape
	now   bool // it is not waited for
	wakes bool // what it waited for was answered
}

func (c *call) send() (any, error) {
	s, err := c.take()
	if err != nil {
		return nil, err
	}
	if !s.now && !s.begun {
		if err := c.takeTime(); err != nil {
			return nil, err
		}
		if err := c.settle(s); err != nil {
			return nil, noTask(err)
		}
	}
	t, err := c.task(s.rec, s.shape)
	if err != nil {
		return nil, err
	}
	return a2a.StreamResponse{Event: t}, nil
}

// Times of waiting for a task to go on that was answered.
const (
	wakeTime = 10 * time.Second
	wakeLook = 20 * time.Millisecond
)

// settle waits until a task has ended or waits for somebody. Who follows as many streams as
// they may gets it as it is.
func (c *call) settle(s *delivery) error {
	done, err := c.face.door.Streams.Begin(c.p.Place(), c.p.Guest())
	if err != nil {
		return nil // the task has begun, and goes on
	}
	defer done()
	for began := time.Now(); ; {
		rec, err := c.p.Await(c.r.Context(), s.rec.ID)
		if err != nil {
			return err
		}
		s.rec = &rec
		if !s.wakes || rec.Status != runs.Waiting || time.Since(began) > wakeTime {
			return nil
		}
		list, err := face.OpenRequests(c.r.Context(), c.p, rec.ID)
		if err != nil || len(list) > 0 || pause.For(c.r.Context(), wakeLook) != nil {
			return err
		}
	}
}

const maxMessageID = 256 // bytes

// take takes a message.
func (c *call) take() (*delivery, error) {
	in, err := c.readMessage()
	if err != nil {
		return nil, err
	}
	if in.Config == nil {
		in.Config = new(a2a.SendMessageConfig)
	}
	s := &delivery{shape: shape{in.Config.HistoryLength, true}, now: in.Config.ReturnImmediately}
	switch {
	case in.Message == nil || in.Message.ID == "":
		return nil, errParams.because("message is missing, or its messageId")
	case len(in.Message.ID) > maxMessageID:
		return nil, errParams.because("messageId has " + strconv.Itoa(len(in.Message.ID)) + " bytes, at most " + strconv.Itoa(maxMessageID))
	case in.Message.Role != a2a.MessageRoleUser:
		return nil, errParams.because("role is not ROLE_USER: what an agent has said is not told to it")
	case len(in.Message.Parts) == 0 || slices.Contains(in.Message.Parts, nil):
		return nil, errParams.because("the message has no parts, or one that is null")
	case !takes(in.Config.AcceptedOutputModes):
		return nil, errType.because("what is accepted is none of text/plain and application/json, which agents answer in")
	}
	if err := s.shape.check(); err != nil {
		return nil, err
	}
	push := in.Config.PushConfig
	if push != nil {
		if err := c.p.CheckPush(c.r.Context(), c.pushOf(push, string(in.Message.TaskID))); err != nil {
			return nil, noPush(err)
		}
	}
	if err := c.takeMessage(in, s); err != nil || push == nil {
		return s, err
	}
	if err := c.p.SetPush(c.r.Context(), c.pushOf(push, s.rec.ID)); err != nil { // others were told of something meanwhile
		f := failureOf(noPush(err))
		return nil, f.because("the task " + s.rec.ID + " has the message, and its address is not told of it: " + f.text)
	}
	return s, nil
}

// takeMessage begins a task, or adds to one.
func (c *call) takeMessage(in *a2a.SendMessageRequest, s *delivery) error {
	if in.Message.TaskID != "" {
		if err := c.refuseBounds(in); err != nil {
			return err
		}
		return c.add(in.Message, s)
	}
	input, err := textOf(in.Message.Parts)
	if err != nil {
		return err
	}
	return c.begin(in, input, s)
}

// takes reports whether somebody takes what agents answer in.
func takes(modes []string) bool {
	return len(modes) == 0 || slices.ContainsFunc(modes, func(mode string) bool {
		kind, _, _ := mime.ParseMediaType(mode)
		switch kind {
		case "text/plain", "text/*", "*/*", jsonType, "application/*":
			return true
		}
		return mode == "text" || mode == "data" // as in 0.3
	})
}

// begin begins a task.
func (c *call) begin(in *a2a.SendMessageRequest, input json.RawMessage, s *delivery) error {
	agent, err := c.addressee()
	if err != nil {
		return err
	}
	ctx := c.r.Context()
	p, input, err := c.bind(in, agent, input)
	if err != nil {
		return err
	}
	raw, err := p.Invoke(runs.ByMessage(ctx, in.Message.ID), "agent:request", agents.Request{AgentID: agent, Input: input, Wait: json.RawMessage("false"), SessionID: in.Message.ContextID})
	if _, none := errors.AsType[*venue.NoAgentError](err); none {
		return errNoAgent
	}
	if err != nil {
		return err
	}
	var answer agents.Answer
	if err := json.Unmarshal(raw, &answer); err != nil {
		return err
	}
	rec, err := c.p.Run(ctx, answer.ID)
	if err != nil {
		s.begun = true // the caller may ask, and not look
		rec = runs.Record{ID: answer.ID, Kind: runs.Task, Status: runs.Started, Agent: agent, Session: answer.SessionID, Input: input, Message: in.Message.ID}
	}
	s.rec = &rec
	return nil
}

// addressee is the agent that a message is for: the tenant, or the only one.
func (c *call) addressee() (string, error) {
	if c.agent != "" {
		if err := agents.CheckID(c.agent); err != nil {
			return "", errParams.because(err.Error())
		}
		return c.agent, nil
	}
	list, err := c.p.Taskable(c.r.Context())
	if err != nil {
		return "", err
	}
	if len(list) != 1 {
		return "", errParams.because("say which agent is meant, as tenant: the skills of the extended card are agents")
	}
	return list[0].AgentID, nil
}

// add adds a message to a task: an answer to what that waits for, or something that its
// agent hears at its next turn.
func (c *call) add(msg *a2a.Message, s *delivery) (err error) {
	if s.rec, err = c.find(string(msg.TaskID)); err != nil {
		return err
	}
	switch {
	case s.rec.Over():
		return errUnsupported
	case msg.ContextID != "" && msg.ContextID != s.rec.Session:
		return errParams.because("contextId is not that of the task")
	}
	if s.wakes, err = c.answer(msg, s.rec); err != nil || s.wakes {
		return err
	}
	input, err := textOf(msg.Parts)
	if err != nil {
		return err
	}
	var text string
	if json.Unmarshal(input, &text) != nil {
		text = string(input)
	}
	ctx, again := c.r.Context(), map[string]string{"id": s.rec.ID}
	if s.rec.Status == runs.Paused { // who is refused has left no message
		if err := c.p.Still(ctx, "grid:jobResume", again); err != nil && fault.Of(err) != fault.ApprovalRequired {
			return err
		}
	}
	if _, err := c.p.Invoke(ctx, "agent:message", agents.Message{AgentID: s.rec.Agent, SessionID: s.rec.Session, Message: text}); err != nil {
		return err
	}
	if s.rec.Status == runs.Paused {
		if _, err := c.p.Invoke(ctx, "grid:jobResume", again); err != nil {
			return err
		}
	}
	s.now = s.now || s.rec.Status == runs.Waiting
	s.rec, err = c.find(s.rec.ID)
	return err
}

// verdict is what a person says of a request for approval.
type verdict struct {
	Approval string `json:"approval"`
	Digest   string `json:"digest"`
	Approve  *bool  `json:"approve"`
	Reason   string `json:"reason"`
}

// isAnswer reports whether data is meant as the answer to a request.
func isAnswer(data json.RawMessage) bool {
	var v struct {
		Approval any `json:"approval"`
	}
	return json.Unmarshal(data, &v) == nil && v.Approval != nil
}

// answer answers a request that the task waits for, where the message is one data part that
// says so. The gate decides who is a person.
func (c *call) answer(msg *a2a.Message, rec *runs.Record) (answered bool, err error) {
	raw, _ := msg.Parts[0].Data().(json.RawMessage)
	if len(msg.Parts) != 1 || !isAnswer(raw) {
		return false, nil
	}
	var v verdict
	if err := face.Strictly(raw, &v); err != nil || v.Approve == nil || v.Digest == "" {
		return false, errParams.because(`an answer is {"approval", "digest", "approve", "reason"}, with the digest that the status shows`)
	}
	waiting, err := face.OpenRequests(c.r.Context(), c.p, rec.ID)
	if err != nil {
		return false, err
	}
	if !slices.ContainsFunc(waiting, func(req approvals.Request) bool { return req.ID == v.Approval }) {
		return false, errParams.because("the task waits for no such approval")
	}
	if *v.Approve {
		_, err = c.person.Invoke(c.r.Context(), "approval:approve", approvals.Yes{ID: v.Approval, Digest: v.Digest, Reason: v.Reason})
	} else {
		_, err = c.person.Invoke(c.r.Context(), "approval:deny", approvals.No{ID: v.Approval, Reason: v.Reason})
	}
	return err == nil, err
}

// waits says what a task waits for, as far as the caller may know.
func (c *call) waits(rec *runs.Record) a2a.ContentParts {
	var list []approvals.Request
	if !c.brief {
		list, _ = face.OpenRequests(c.r.Context(), c.p, rec.ID) // or nobody knows
	}
	if len(list) == 0 {
		return a2a.ContentParts{a2a.NewTextPart("The task waits for a person, or for what else it has begun.")}
	}
	parts := a2a.ContentParts{a2a.NewTextPart("The task waits for the approval of a person: " + list[0].Operation + ". It goes on by itself then.")}
	for _, req := range list {
		parts = append(parts, a2a.NewDataPart(map[string]any{
			"approval": req.ID, "digest": req.Digest, "agent": req.Agent, "operation": req.Operation, "needs": req.Needs, "why": req.Why, "input": req.Input, "expires": req.Expires,
		}))
	}
	return parts
}

// textOf is what a message says, as an agent is given it: texts together, or one value.
func textOf(parts a2a.ContentParts) (json.RawMessage, error) {
	if len(parts) == 1 {
		if data, is := parts[0].Content.(a2a.Data); is {
			return json.Marshal(data.Value)
		}
	}
	var b strings.Builder
	for _, p := range parts {
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		switch content := p.Content.(type) {
		case a2a.Text:
			b.WriteString(string(content))
		case a2a.Data:
			raw, err := json.Marshal(content.Value)
			if err != nil {
				return nil, err
			}
			b.Write(raw)
		case a2a.Raw:
			if !strings.HasPrefix(p.MediaType, "text/") || !utf8.Valid(content) {
				return nil, errType.because("a part is a file that is no text")
			}
			b.Write(content)
		default:
			return nil, errType.because("a part is a link: nothing is fetched for a caller")
		}
	}
	return value.AppendString(nil, b.String()), nil
}
