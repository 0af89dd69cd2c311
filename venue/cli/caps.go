package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"usher/caps"
	"usher/prompt"
	"usher/tools"
	"usher/tools/form"
	"usher/ucan"
	"usher/venue"
)

type capsCmd struct {
	Check    capsCheckCmd    `cmd:"" help:"Decide whether capabilities allow a call."`
	Disclose capsDiscloseCmd `cmd:"" help:"Print the section that tells a model its bounds."`
}

type capsCheckCmd struct {
	Caps   string    `placeholder:"JSON|@FILE" help:"Capabilities: a list of {with, can}, which may have ask, when, until and deny, or null."`
	Agent  string    `placeholder:"NAME" help:"Capabilities of this agent of the configuration, within those of all above it."`
	Config string    `short:"c" default:"usher.yaml" placeholder:"FILE" help:"Configuration that has the agent: a file or a folder."`
	Op     string    `placeholder:"OPERATION" help:"Operation: covia:write or v/ops/covia/write."`
	Input  string    `placeholder:"JSON|@FILE" default:"{}" help:"Input of the call."`
	Owner  string    `placeholder:"DID" help:"Whose namespace bare resources lie in."`
	Batch  string    `placeholder:"FILE|-" help:"Check JSON lines of {id, caps, operation, input}. Each is answered by a line of its own, and the exit status is 0 whatever they say."`
	At     *timeFlag `placeholder:"RFC3339" help:"Decide as of this time (default: now)."`
	JSON   bool      `name:"json" help:"Print the verdict as JSON."`
}

// Decisions of a verdict.
const (
	verdictAllow   = "allow"
	verdictAsk     = "ask" // a person has to allow it
	verdictDeny    = "deny"
	verdictInvalid = "invalid" // the question makes no sense: bad caps, path or input
)

// verdict is the answer to one question.
type verdict struct {
	ID           json.RawMessage     `json:"id,omitempty"`
	Decision     string              `json:"decision"`
	Message      string              `json:"message"`
	Operation    string              `json:"operation,omitempty"`
	Requirements []tools.Requirement `json:"requirements,omitempty"`
	Hint         string              `json:"hint,omitempty"`
}

func (c *capsCheckCmd) Run(_ context.Context, s *streams) error {
	check, err := newChecker(c.Owner, c.At.clock(), s.program.Tools...)
	if err != nil {
		return err
	}
	if c.Batch != "" && (c.Caps != "" || c.Agent != "" || c.Op != "") {
		return misusef("--batch brings caps, operation and input in each line: leave --caps, --agent and --op out")
	}
	if c.Batch != "" {
		in, err := s.source(c.Batch)
		if err != nil {
			return err
		}
		defer in.Close()
		return check.batch(in, s.out)
	}
	if c.Op == "" || (c.Caps == "") == (c.Agent == "") {
		return misusef("caps check needs --op, and one of --caps and --agent; or --batch")
	}
	held, err := c.capsJSON(s)
	if err != nil {
		return err
	}
	input, err := s.argument(c.Input)
	if err != nil {
		return err
	}
	v := check.one(question{Caps: json.RawMessage(held), Operation: c.Op, Input: json.RawMessage(input)})
	return s.printVerdict(v, c.JSON)
}

// capsJSON are the capabilities in question, as JSON.
func (c *capsCheckCmd) capsJSON(s *streams) (string, error) {
	if c.Agent == "" {
		return s.argument(c.Caps)
	}
	from := fromConfig{Config: c.Config}
	configured, err := from.load(s)
	if err != nil {
		return "", err
	}
	set, ok := configured.CapsOf(c.Agent)
	if !ok {
		return "", unknown("there is no agent", c.Agent, configured.Agents, ofSpec)
	}
	text, err := json.Marshal(set)
	return string(text), err
}

func (s *streams) printVerdict(v verdict, asJSON bool) error {
	mark := map[string]func(string) string{verdictAllow: s.paint.good, verdictAsk: s.paint.warn, verdictDeny: s.paint.bad, verdictInvalid: s.paint.warn}[v.Decision]
	text := mark(v.Decision) + "  " + s.paint.safe(v.Message) + "\n"
	if v.Hint != "" {
		text += s.paint.dim(s.paint.safe(v.Hint)) + "\n"
	}
	if err := s.answer(asJSON, v, text); err != nil || v.Decision == verdictAllow {
		return err
	}
	if v.Decision == verdictDeny || v.Decision == verdictAsk {
		return errQuiet
	}
	return misuse{errQuiet}
}

// question is one line of a batch.
type question struct {
	ID        json.RawMessage `json:"id"`
	Caps      json.RawMessage `json:"caps"`
	Operation string          `json:"operation"`
	Input     json.RawMessage `json:"input"`
}

// readQuestion reads a line. A line may carry more than a question, but not a
// misspelt key of one: "cap" would leave caps out, which means no bound.
func readQuestion(line []byte) (q question, err error) {
	if err := json.Unmarshal(line, &q); err != nil {
		return q, fmt.Errorf("it is not a JSON object of id, caps, operation and input: %w", err)
	}
	if err := tools.CheckObject(line); err != nil {
		return q, err
	}
	var keys map[string]json.RawMessage
	_ = json.Unmarshal(line, &keys) // it is an object
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if near := form.Nearest(key, []string{"id", "caps", "operation", "input"}); near != "" && near != key {
			return q, fmt.Errorf("unknown key %q: did you mean %q?", key, near)
		}
	}
	if q.Operation == "" {
		return q, errors.New("operation is missing: name one, for example covia:read")
	}
	return q, nil
}

// checker answers questions about capabilities as the gate would decide them.
type checker struct {
	gate  *tools.Gate
	mint  *tools.Mint
	owner ucan.DID

	named, shown *strings.Replacer // the owner as it was given, to somebody and back
}

// newChecker returns a checker whose bare resources lie with owner, a DID; empty
// is somebody.
func newChecker(owner string, now func() time.Time, more ...*tools.Operation) (*checker, error) {
	registry, err := venue.Catalogue(more...)
	if err != nil {
		return nil, err
	}
	c := &checker{named: strings.NewReplacer(), shown: strings.NewReplacer()}
	if c.owner, err = ucan.ParseDID(cmp.Or(owner, somebody)); err != nil {
		r, parseErr := caps.ParseResource(owner)
		if parseErr != nil || r.DID() == "" || r.Path() != "" {
			return nil, misusef("--owner %q is not a DID such as did:key:z6Mk…", owner)
		}
		// Of a DID without a key that this venue knows only the name counts here.
		c.owner, err = ucan.ParseDID(somebody)
		c.named, c.shown = strings.NewReplacer(owner, somebody), strings.NewReplacer(somebody, owner)
	}
	c.gate, c.mint = tools.NewGate(registry, &tools.GateOptions{Now: now})
	return c, err
}

// somebody is the owner where none is given. Nobody has its key.
const somebody = "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"

func (c *checker) batch(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 4<<20)
	w := bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for n := 1; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		q, err := readQuestion(line)
		v := verdict{Decision: verdictInvalid}
		if err != nil {
			v.Message = fmt.Sprintf("line %d: %v", n, err)
		} else {
			v = c.one(q)
		}
		v.ID = q.ID
		if err := enc.Encode(v); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read batch: %w", err)
	}
	return w.Flush()
}

// one asks a gate before the catalogue, with a user who holds what the question
// says and nothing else. Nothing runs.
func (c *checker) one(q question) verdict {
	wrong := func(err error) verdict {
		return verdict{Decision: verdictInvalid, Message: c.shown.Replace(err.Error())}
	}
	held := caps.Unrestricted()
	if len(q.Caps) > 0 {
		var err error
		if held, err = caps.ParseSet([]byte(c.named.Replace(string(q.Caps)))); err != nil {
			return wrong(err)
		}
	}
	auth := c.mint.User(c.owner).Narrow(held.In(c.owner.String()))
	r, err := c.gate.Decide(context.Background(), auth, tools.Invocation{Operation: q.Operation, Input: json.RawMessage(c.named.Replace(string(q.Input)))})
	if input, unfit := errors.AsType[*tools.InputError](err); err != nil && !(unfit && input.Incomplete) {
		return wrong(err)
	}
	v := verdict{Decision: r.Verdict(), Operation: r.Operation().Path(), Requirements: r.Requirements()}
	for i := range v.Requirements {
		v.Requirements[i].Unmet = false // the decision says it
	}
	if denial := r.Denial(); denial != nil {
		v.Message, v.Hint = denial.Error(), denial.Hint
	} else if why := r.Reason(); why != "" {
		v.Message = why
	} else {
		met := make([]string, len(v.Requirements))
		for i, r := range v.Requirements {
			met[i] = r.Ability + " on " + r.Resource + ", allowed by " + r.By
		}
		v.Message = v.Operation + " requires " + strings.Join(met, ", ")
	}
	v.Message, v.Hint = c.shown.Replace(v.Message), c.shown.Replace(v.Hint)
	return v
}

type capsDiscloseCmd struct {
	Caps string `required:"" placeholder:"JSON|@FILE" help:"Capabilities: a list of {with, can}, or null."`
	JSON bool   `name:"json" help:"Print {caps, disclosure}."`
}

func (c *capsDiscloseCmd) Run(s *streams) error {
	set, err := s.capabilities(c.Caps)
	if err != nil {
		return err
	}
	section := prompt.Disclosure(set)
	if section == "" && !c.JSON {
		s.note("unrestricted: the section is absent from the prompt")
		return nil
	}
	return s.answer(c.JSON, map[string]any{"caps": set, "disclosure": section}, s.paint.safe(section)+"\n")
}
