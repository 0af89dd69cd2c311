package visit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"usher/caps"
	"usher/runtime"
	"usher/runtime/offline"
	"usher/runtime/telemetry"
	"usher/tools/agents"
	"usher/venue"
	"usher/venue/config"
	"usher/venue/server"
)

// stage is where the story is played.
type stage struct {
	report
	dir        string
	telemetry  telemetry.Options
	bank, acme *venue.Venue
	at         string // of the bank
	host       string
	alice      string // her token at the bank
	payer      *venue.Agent
	agent      string // its id at the bank
	code       string // that the bank gave it for Alice

	stop    context.CancelFunc
	serving sync.WaitGroup
	failed  error // of serving
}

// report is what the demo prints, and with --json what it is as data.
type report struct {
	Scenes     []scene  `json:"scenes"`
	Balance    int      `json:"balance"`  // of Alice, in the end
	Rows       [2]int   `json:"rows"`     // of the ledgers of Acme and the bank
	Verified   bool     `json:"verified"` // all rows are those that were written
	Unexpected []string `json:"unexpected"`
}

const bankConfig = `
name: Bank
user: alice
data:
  - {path: w/account, value: {balance: 1000, holder: Alice}}
agentauth:
  description: Accounts of people.
  capabilities:
    - name: balance
      operation: bank:balance
      public: true
      caps: [{with: bank/balance, can: invoke}]
      within: [{with: w/account, can: crud/read}]
    - name: transfer
      operation: bank:transfer
      public: true
      caps: [{with: bank/transfer, can: invoke}]
      within: [{with: w/account, can: crud}]
    - name: statement
      operation: bank:statement
      caps: [{with: bank/statement, can: invoke}]
      within: [{with: w/account, can: crud/read}]
`

// open opens both venues, the bank at a port of this machine.
func (s *stage) open(ctx context.Context) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.host = l.Addr().String()
	s.at = "http://" + s.host
	if err := s.openBank(ctx, l); err != nil {
		return errors.Join(err, l.Close())
	}
	cfg, err := config.Parse("acme.yaml", []byte("name: Acme\nagentauth: {private_servers: ['"+s.host+"']}\n"))
	if err != nil {
		return err
	}
	s.acme, err = venue.Open(ctx, &venue.Options{
		Dir: s.below("acme"), Config: cfg, Models: map[string]runtime.Model{"default": offline.Model{}}, Telemetry: s.telemetry,
	})
	if err != nil {
		return err
	}
	return s.hire(ctx)
}

func (s *stage) below(name string) string {
	if s.dir == "" {
		return ""
	}
	return filepath.Join(s.dir, name)
}

// openBank opens the bank, has it answer at a listener, and signs Alice in.
func (s *stage) openBank(ctx context.Context, l net.Listener) error {
	cfg, err := config.Parse("bank.yaml", []byte(bankConfig))
	if err != nil {
		return err
	}
	if s.bank, err = venue.Open(ctx, &venue.Options{Dir: s.below("bank"), Config: cfg, Tools: bankOperations()}); err != nil {
		return err
	}
	alice, err := s.bank.User(ctx, person)
	if err != nil {
		return err
	}
	if s.alice, err = s.bank.Session(ctx, alice, time.Hour); err != nil {
		return err
	}
	port, err := server.New(s.bank, nil)
	if err != nil {
		return err
	}
	ctx, s.stop = context.WithCancel(ctx)
	s.serving.Go(func() { s.failed = port.Serve(ctx, l) })
	return nil
}

// hire makes the agent, which may ask the bank for anything, and execute three things.
func (s *stage) hire(ctx context.Context) error {
	owner, err := s.acme.User(ctx, "owner")
	if err != nil {
		return err
	}
	at := "agentauth/" + s.host
	may := []caps.Capability{caps.MustCapability(at, "agentauth")}
	for _, name := range []string{"balance", "transfer", "statement"} {
		may = append(may, caps.MustCapability(at+"/"+name, "invoke"))
	}
	if s.payer, err = owner.CreateAgent(ctx, agents.Spec{
		ID: payer, Prompt: "You pay the bills.", Tools: []string{"agentauth:*"}, Caps: caps.Declare(caps.Of(may...)),
	}); err != nil {
		return fmt.Errorf("%w; give an empty folder with --data", err)
	}
	return nil
}

func (s *stage) close() (err error) {
	if s.stop != nil {
		s.stop()
		s.serving.Wait()
		err = s.failed
	}
	for _, v := range []*venue.Venue{s.acme, s.bank} {
		if v != nil {
			err = errors.Join(err, v.Close())
		}
	}
	return err
}

func (s *stage) surprise(format string, args ...any) {
	s.Unexpected = append(s.Unexpected, s.plain(fmt.Sprintf(format, args...)))
}

// plain writes the address of the bank as its name.
func (s *stage) plain(text string) string {
	return strings.NewReplacer(s.at, "bank", s.host, "bank").Replace(text)
}

// play is the whole story.
func (s *stage) play(ctx context.Context) error {
	for i := range s.Scenes {
		for j := range s.Scenes[i].Steps {
			st := &s.Scenes[i].Steps[j]
			take := s.takes
			if st.Who == person {
				take = s.says
			}
			if err := take(ctx, st); err != nil {
				return fmt.Errorf("%s %s: %w", st.Who, st.Does, err)
			}
			if st.Outcome != st.want || !strings.Contains(st.Words, st.says) {
				s.surprise("%s %s: %s %s, want %s %s", st.Who, st.Does, st.Outcome, st.Words, st.want, st.says)
			}
		}
	}
	return s.audit(ctx)
}

// takes has the agent take a step: one turn with one call.
func (s *stage) takes(ctx context.Context, st *step) error {
	input := object{"server": s.at}
	maps.Copy(input, st.input)
	raw, err := json.Marshal(input)
	if err != nil {
		return err
	}
	for ev, err := range s.payer.ChatIn(ctx, "", "call "+st.call+" "+string(raw)) {
		if err != nil {
			return err
		}
		if ev, ok := ev.(runtime.ToolEnd); ok {
			s.note(st, ev)
		}
	}
	if st.Outcome == "" {
		return fmt.Errorf("%w: it makes no call", errUnexpected)
	}
	return nil
}

// note notes what came of a call.
func (s *stage) note(st *step, ev runtime.ToolEnd) {
	switch ev.Outcome {
	case runtime.ToolOK:
		st.Outcome, st.Result = done, json.RawMessage(ev.Result)
		var standing struct {
			AgentID  string `json:"agent_id"`
			Next     string `json:"next"`
			Approval *struct {
				Code string `json:"user_code"`
			} `json:"approval"`
		}
		_ = json.Unmarshal(st.Result, &standing) // most answers have none of it
		if standing.AgentID != "" {
			s.agent = standing.AgentID
		}
		if standing.Approval != nil {
			st.Outcome, s.code = waits, standing.Approval.Code
			st.Words = standing.Next
		}
		return
	case runtime.ToolDenied:
		st.Outcome = denied
	default:
		st.Outcome = refused
	}
	var failure struct{ Message string }
	if st.Words = ev.Result; json.Unmarshal([]byte(ev.Result), &failure) == nil {
		st.Words = failure.Message
	}
}

// says has Alice send what she says to the bank, with the code that the agent has given her.
func (s *stage) says(ctx context.Context, st *step) error {
	body := object{"agent_id": s.agent, "user_code": s.code}
	maps.Copy(body, st.body)
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	method, path, _ := strings.Cut(st.request, " ")
	req, err := http.NewRequestWithContext(ctx, method, s.at+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+s.alice)
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if st.Result, err = io.ReadAll(res.Body); err != nil {
		return err
	}
	st.Outcome = done
	if res.StatusCode != http.StatusOK {
		st.Outcome, st.Words = refused, string(st.Result)
	}
	return nil
}

// audit has both venues sign their ledgers, and checks all of them against that.
func (s *stage) audit(ctx context.Context) error {
	alice, err := s.bank.User(ctx, person)
	if err != nil {
		return err
	}
	raw, err := alice.Invoke(ctx, "covia:read", object{"path": "w/account/balance"})
	if err != nil {
		return err
	}
	var left struct{ Value int }
	if err := json.Unmarshal(raw, &left); err != nil {
		return err
	}
	if s.Balance = left.Value; s.Balance != 1000-80-400 {
		s.surprise("the account has %d, want 520", s.Balance)
	}
	s.Verified = true
	for i, v := range []*venue.Venue{s.acme, s.bank} {
		if _, err := v.Ledger().Checkpoint(ctx); err != nil {
			return err
		}
		found, err := v.Ledger().Verify(ctx, nil)
		if s.Rows[i] = int(found.Rows); err != nil {
			s.Verified = false
			s.surprise("the audit ledger: %v", err)
		}
	}
	return ctx.Err()
}
