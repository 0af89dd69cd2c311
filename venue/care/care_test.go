package care_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"usher/runtime"
	"usher/tools/scheduler"
	"usher/ucan"
	"usher/venue"
	"usher/venue/care"
	"usher/venue/ledger"
	"usher/venue/store/journal"
	"usher/venue/venuetest"
)

const childDir = "USHER_CARE_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := load(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	venuetest.CollectLess()
	goleak.VerifyTestMain(m)
}

// load writes to a venue until its input ends, and says what was acknowledged.
func load(dir string) error {
	ctx := context.Background()
	v, err := venue.Open(ctx, &venue.Options{Dir: dir})
	if err != nil {
		return err
	}
	u, err := v.User(ctx, "alice")
	if err != nil {
		return err
	}
	var out sync.Mutex
	filler := strings.Repeat("x", 8<<10)
	for w := range 8 {
		go func() {
			for n := 0; ; n++ {
				path := fmt.Sprintf("w/%d/%d", w, n)
				if _, err := u.Invoke(ctx, "covia:write", map[string]string{"path": path, "value": filler}); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				out.Lock()
				fmt.Println(path)
				out.Unlock()
			}
		}()
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err // and the process dies
}

// plain is a lock that everybody opens.
var plain = care.Lock{Plain: true}

func backup(t *testing.T, dir string, lock care.Lock) (file string, m care.Manifest) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "backup")
	m, size, err := care.Backup(t.Context(), dir, file, lock, nil)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Size() != size || info.Mode().Perm() != 0o600 {
		t.Errorf("the backup is %v, %v; want %d bytes for its owner alone", info, err, size)
	}
	return file, m
}

func restore(t *testing.T, file string, key care.Key, at time.Time) (dir string, r care.RestoreResult) {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	dir = filepath.Join(t.TempDir(), "restored")
	if r, err = care.Restore(t.Context(), in, key, dir, at, nil); err != nil {
		t.Fatal(err)
	}
	return dir, r
}

func wantSound(t *testing.T, dir string) {
	t.Helper()
	found, sound := care.Examine(t.Context(), dir, nil, time.Now())
	if !sound || len(found) < 6 {
		t.Errorf("%s is not sound: %+v", dir, found)
	}
}

// Nothing that was acknowledged before a backup began is missing where it is restored,
// though another process writes all the time.
func TestBackupUnderLoad(t *testing.T) {
	dir := t.TempDir()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir)
	child.Stderr = os.Stderr
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var acknowledged []string
	enough, ended := make(chan struct{}), make(chan struct{})
	most, backups := 4000, 2 // some segments
	if testing.Short() {
		most, backups = 1000, 1
	}
	go func() {
		defer close(ended)
		for s := bufio.NewScanner(out); s.Scan(); {
			mu.Lock()
			if acknowledged = append(acknowledged, s.Text()); len(acknowledged) == most {
				close(enough)
			}
			mu.Unlock()
		}
	}()
	select {
	case <-enough:
	case <-ended:
		t.Fatal("the child ended")
	}
	for range backups {
		mu.Lock()
		before := acknowledged[:len(acknowledged):len(acknowledged)]
		mu.Unlock()
		file, _ := backup(t, dir, plain)
		restored, _ := restore(t, file, care.Key{}, time.Time{})
		wantSound(t, restored)
		v, err := venue.Open(t.Context(), &venue.Options{Dir: restored, ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		alice := venuetest.User(t, v, "alice")
		for i := 0; i < len(before); i += max(1, len(before)/1000) {
			if got := venuetest.Read(t, alice, before[i]); !strings.Contains(got, `"exists":true`) {
				t.Fatalf("%s was acknowledged before the backup, and reads %.200s", before[i], got)
			}
		}
		if got := venuetest.Read(t, alice, before[len(before)-1]); !strings.Contains(got, `"exists":true`) {
			t.Errorf("the last is missing: %.200s", got)
		}
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	<-ended
	if err := child.Wait(); err != nil {
		t.Error(err)
	}
}

// worksOnce is a token by which somebody with a key of their own comes once.
func worksOnce(t *testing.T, venue ucan.DID) string {
	t.Helper()
	key, err := ucan.KeyFromSeed(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	now, b64 := time.Now().Unix(), base64.RawURLEncoding
	says := fmt.Sprintf(`{"sub":"%s","aud":"%s","iat":%d,"exp":%d,"jti":"1"}`, key.DID(), venue, now, now+600)
	text := b64.EncodeToString([]byte(`{"alg":"EdDSA","typ":"JWT"}`)) + "." + b64.EncodeToString([]byte(says))
	return text + "." + b64.EncodeToString(key.Sign([]byte(text)))
}

// A restore to a moment gives its state, but what was revoked, ended, suspended and used
// since stays so.
func TestRestoreAt(t *testing.T) {
	dir := t.TempDir()
	model := map[string]runtime.Model{"default": new(venuetest.Model)}
	v, err := venue.Open(t.Context(), &venue.Options{Dir: dir, Models: model})
	if err != nil {
		t.Fatal(err)
	}
	alice, bob := venuetest.User(t, v, "alice"), venuetest.User(t, v, "bob")
	write := func(n int) {
		t.Helper()
		venuetest.Invoke(t, alice, "covia:write", fmt.Sprintf(`{"path":"w/a","value":%d}`, n))
	}
	for _, id := range []string{"carol", "dave", "erin", "frank", "grace"} {
		venuetest.Create(t, alice, venuetest.Spec(id, "", ""))
	}
	venuetest.Invoke(t, alice, "agent:suspend", `{"agentId":"grace"}`)
	for id, held := range map[string]string{"narrowed": `[{"with":"w/","can":"crud"}]`, "widened": `[{"with":"w/a","can":"crud/read"}]`, "moved": `null`} {
		venuetest.Create(t, alice, venuetest.Spec(id, "", held))
	}
	for id, held := range map[string]string{"above": `[{"with":"w/a","can":"crud/read"}]`, "placed": `[{"with":"w/","can":"crud"}]`} {
		venuetest.Create(t, bob, venuetest.Spec(id, "", held))
	}
	var made struct{ Tokens []struct{ CID string } }
	raw := venuetest.Invoke(t, alice, "ucan:delegate", `{"audience":"`+bob.DID().String()+`","capabilities":[{"with":"w/","can":"crud/read"}]}`)
	if err := json.Unmarshal([]byte(raw), &made); err != nil || len(made.Tokens) != 1 {
		t.Fatalf("%s, %v", raw, err)
	}
	token := func(name string) string {
		t.Helper()
		var made struct{ Token string }
		if err := json.Unmarshal([]byte(venuetest.Invoke(t, alice, "token:create", `{"name":"`+name+`"}`)), &made); err != nil {
			t.Fatal(err)
		}
		return made.Token
	}
	stolen, replaced, good, once := token("stolen"), token("replaced"), token("good"), worksOnce(t, v.DID())
	for _, name := range []string{"cancelled", "replaced", "kept"} {
		venuetest.Invoke(t, alice, "scheduler:schedule", `{"name":"`+name+`","operation":"covia:list","cron":"0 0 1 1 *"}`)
	}
	write(1)
	theirs := fmt.Sprintf(`{"path":"%s/w/a"}`, alice.DID())
	venuetest.Invoke(t, bob, "covia:read", theirs)
	moment := time.Now()
	write(2)
	venuetest.Invoke(t, alice, "ucan:revoke", `{"cid":"`+made.Tokens[0].CID+`"}`)
	for _, name := range []string{"stolen", "replaced"} {
		venuetest.Invoke(t, alice, "token:revoke", `{"name":"`+name+`"}`)
	}
	token("replaced")
	if _, err := v.Authenticate(t.Context(), once); err != nil {
		t.Fatal(err)
	}
	venuetest.Invoke(t, alice, "agent:delete", `{"agentId":"carol"}`)
	venuetest.Invoke(t, alice, "agent:delete", `{"agentId":"dave","remove":true}`)
	venuetest.Invoke(t, alice, "agent:suspend", `{"agentId":"frank"}`)
	for _, name := range []string{"cancelled", "replaced"} {
		venuetest.Invoke(t, alice, "scheduler:cancel", `{"handle":"`+name+`"}`)
	}
	venuetest.Invoke(t, alice, "scheduler:schedule", `{"name":"replaced","operation":"covia:list","cron":"0 0 2 1 *"}`)
	venuetest.Invoke(t, alice, "agent:resume", `{"agentId":"grace"}`)
	for id, held := range map[string]string{"narrowed": `[{"with":"w/a","can":"crud/read"},{"with":"o/","can":"crud"}]`, "widened": `[{"with":"w/","can":"crud"}]`, "moved": `[{"with":"w/a","can":"crud"}]`} {
		venuetest.Invoke(t, alice, "agent:update", `{"agentId":"`+id+`","config":{"caps":`+held+`}}`)
	}
	venuetest.Invoke(t, bob, "agent:update", `{"agentId":"placed","config":{"parent":"above"}}`)
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	places := []string{venue.CheckpointFile(dir)}

	file, m := backup(t, dir, plain)
	restored, r := restore(t, file, care.Key{}, moment)
	if r.Position >= m.Position || r.Time.After(moment) || r.Kept == 0 {
		t.Errorf("restored: %+v; the backup ends with record %d", r, m.Position)
	}
	wantSound(t, restored)
	v = venuetest.Open(t, &venue.Options{Dir: restored, Models: model})
	alice, bob = venuetest.User(t, v, "alice"), venuetest.User(t, v, "bob")
	if got := venuetest.Read(t, alice, "w/a"); !strings.Contains(got, `"value":1`) {
		t.Errorf("w/a is %s; at that moment it was 1", got)
	}
	placed, err := bob.As(t.Context(), "placed")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := placed.Invoke(t.Context(), "covia:write", json.RawMessage(`{"path":"w/b","value":1}`)); err == nil {
		t.Errorf("an agent that was put below another since may do what that one may not: %s", out)
	}
	venuetest.Invoke(t, placed, "covia:read", `{"path":"w/a"}`)
	if out, err := bob.Invoke(t.Context(), "covia:read", json.RawMessage(theirs)); err == nil {
		t.Errorf("the revoked token works again: %s", out)
	}
	for name, token := range map[string]string{"that was revoked": stolen, "that was revoked and made anew": replaced, "that works once": once} {
		if p, err := v.Authenticate(t.Context(), token); err == nil {
			t.Errorf("the token %s works again, as %s", name, p.DID())
		}
	}
	if _, err := v.Authenticate(t.Context(), good); err != nil {
		t.Errorf("the token that nobody has revoked: %v", err)
	}
	list, err := alice.Agents(t.Context())
	var are []string
	changed := map[string]string{"narrowed": "crud/read on w/a", "widened": "crud/read on w/a", "moved": "crud on w/a"}
	for _, a := range list {
		want, did := changed[a.AgentID]
		if !did {
			are = append(are, a.AgentID+" "+a.Status)
			continue
		}
		agent, err := alice.Agent(t.Context(), a.AgentID)
		if err != nil {
			t.Fatal(err)
		}
		info, err := agent.Info(t.Context())
		if held, _ := info.Config.Caps.Set(); err != nil || held.String() != want || a.Status != "SLEEPING" {
			t.Errorf("agent %s, whose capabilities changed since: %s, %v, %s, want %s", a.AgentID, held, err, a.Status, want)
		}
		delete(changed, a.AgentID)
	}
	if len(changed) > 0 {
		t.Errorf("these are gone: %v", changed)
	}
	if want := "erin SLEEPING, frank SUSPENDED, grace SUSPENDED"; err != nil || strings.Join(are, ", ") != want {
		t.Errorf("agents: %s, %v; want %s, as the others have ended", are, err, want)
	}
	var scheduled struct {
		Events []scheduler.Event
	}
	if err := json.Unmarshal([]byte(venuetest.Invoke(t, alice, "scheduler:list", `{}`)), &scheduled); err != nil || len(scheduled.Events) != 3 {
		t.Fatalf("schedules: %+v, %v", scheduled, err)
	}
	for _, is := range scheduled.Events {
		if fires := is.Handle == "kept"; fires != (is.Time != 0) || fires != (is.Error == "") {
			t.Errorf("schedule %s, next %d, error %q", is.Handle, is.Time, is.Error)
		}
	}
	var notes []string
	for row, err := range v.Audit(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if row.Note != "" {
			notes = append(notes, row.Note+string(row.Detail))
		}
	}
	if len(notes) == 0 || !strings.Contains(notes[len(notes)-1], r.Root) && !strings.Contains(strings.Join(notes, " "), ledger.Restored) {
		t.Errorf("notes: %q", notes)
	}
	// A checkpoint of the venue before says what happened.
	_, err = v.Ledger().Verify(t.Context(), places)
	if !errors.Is(err, ledger.ErrBroken) || !strings.Contains(err.Error(), "restored from a backup") {
		t.Errorf("Verify against the checkpoints of before = %v", err)
	}

	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := care.Restore(t.Context(), in, care.Key{}, filepath.Join(t.TempDir(), "y"), moment.Add(-24*time.Hour), nil); err == nil || !strings.Contains(err.Error(), "there is no state of") {
		t.Errorf("a moment before the first: %v", err)
	}
}

// small is a folder of a venue.
func small(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	v, err := venue.Open(t.Context(), &venue.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	venuetest.Invoke(t, venuetest.User(t, v, "alice"), "covia:write", `{"path":"w/a","value":1}`)
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A backup that was changed in any way restores nothing, and leaves nothing.
func TestDamagedBackups(t *testing.T) {
	dir := small(t)
	file, _ := backup(t, dir, plain)
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := func(text string) int { return bytes.Index(good, []byte(text)) }
	for name, change := range map[string]func([]byte) []byte{
		"empty":                 func([]byte) []byte { return nil },
		"cut":                   func(b []byte) []byte { return b[:len(b)/2] },
		"without its end":       func(b []byte) []byte { return b[:at("manifest.json")] },
		"a bit of the format":   func(b []byte) []byte { b[at("usher data folder")] ^= 1; return b },
		"a bit of the journal":  func(b []byte) []byte { b[at("journal/")+600] ^= 1; return b },
		"a bit of the key":      func(b []byte) []byte { b[at("venue.key")+520] ^= 1; return b },
		"a bit of the manifest": func(b []byte) []byte { b[at(`"sha256":"`)+12] ^= 1; return b },
		"something behind it":   func(b []byte) []byte { return append(b, good...) },
		"something else":        func([]byte) []byte { return bytes.Repeat([]byte("no tar "), 1000) },
	} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			_, err := care.Restore(t.Context(), bytes.NewReader(change(bytes.Clone(good))), care.Key{}, filepath.Join(parent, "new"), time.Time{}, nil)
			if err == nil {
				t.Error("it was restored")
			}
			if left, err := os.ReadDir(parent); err != nil || len(left) != 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "mine"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := care.Restore(t.Context(), bytes.NewReader(good), care.Key{}, full, time.Time{}, nil); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("into a folder with files: %v", err)
	}
}

// A backup is opened by its passphrase or its recipient, and by nothing else.
func TestLocks(t *testing.T) {
	dir := small(t)
	const identity = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX"
	mine, err := care.IdentityKey(identity)
	if err != nil {
		t.Fatal(err)
	}
	recipients, err := care.ParseRecipients("# me\nage1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj\n")
	if err != nil {
		t.Fatal(err)
	}
	good, _ := care.PassphraseKey("a long passphrase")
	bad, _ := care.PassphraseKey("another")
	secret := care.Lock{Passphrase: "a long passphrase"}.Quick()
	for _, tt := range []struct {
		name string
		lock care.Lock
		key  care.Key
		want string
	}{
		{"plain", plain, care.Key{}, ""},
		{"passphrase", secret, good, ""},
		{"another passphrase", secret, bad, "not opened by this"},
		{"no passphrase", secret, care.Key{}, "the backup is encrypted: give the passphrase, or an identity of its recipient"},
		{"recipient", care.Lock{Recipients: recipients}, mine, ""},
		{"a passphrase for a recipient", care.Lock{Recipients: recipients}, good, "not opened by this"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file, _ := backup(t, dir, tt.lock)
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if seen := bytes.Contains(raw, []byte("usher data folder")); seen != tt.lock.Plain {
				t.Errorf("its content shows: %v", seen)
			}
			_, err = care.Restore(t.Context(), bytes.NewReader(raw), tt.key, filepath.Join(t.TempDir(), "new"), time.Time{}, nil)
			if err == nil && tt.want != "" || err != nil && (tt.want == "" || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("Restore = %v, want %q", err, tt.want)
			}
		})
	}
	if _, _, err := care.Backup(t.Context(), dir, filepath.Join(t.TempDir(), "x"), care.Lock{}, nil); err == nil || !strings.Contains(err.Error(), "give a passphrase or a recipient") {
		t.Errorf("a backup that nothing locks: %v", err)
	}
}

// Of a place for checkpoints that is a URL no more is shown than where it is: the rest may be a secret.
func TestExamineShowsNoSecret(t *testing.T) {
	found, _ := care.Examine(t.Context(), small(t), []string{"https://user:secret@log.example/secret?key=secret"}, time.Now())
	text := fmt.Sprintf("%+v", found)
	if strings.Contains(text, "secret@") || strings.Contains(text, "key=") || !strings.Contains(text, "none of https://log.example") {
		t.Errorf("it shows %s", text)
	}
}

// What is wrong with a folder is named with what to do, and what can be made anew is.
func TestExamineAndRepair(t *testing.T) {
	one := func(t *testing.T, dir, pattern string) string {
		t.Helper()
		all, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(all) == 0 {
			t.Fatalf("%s: %v, %v", pattern, all, err)
		}
		return all[0]
	}
	flip := func(t *testing.T, path string, at int) {
		t.Helper()
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		raw[at] ^= 1
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	snapshot := func(t *testing.T, dir string) {
		t.Helper()
		j, err := journal.Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.TakeSnapshot(t.Context()); err != nil {
			t.Error(err)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, tt := range []struct {
		name   string
		harm   func(t *testing.T, dir string)
		part   string // that is not sound
		mended bool
	}{
		{"nothing", func(*testing.T, string) {}, "", true},
		{"a table of the index", func(t *testing.T, dir string) { flip(t, one(t, dir, "index/*/*.sst"), 100) }, "index", true},
		{"a table is missing", func(t *testing.T, dir string) { _ = os.Remove(one(t, dir, "index/*/*.sst")) }, "index", true},
		{"a snapshot", func(t *testing.T, dir string) {
			snapshot(t, dir)
			flip(t, one(t, dir, "snapshots/*"), 40)
		}, "snapshot", true},
		{"the journal", func(t *testing.T, dir string) { flip(t, one(t, dir, "journal/*.wal"), 400) }, "journal", false},
		{"another key", func(t *testing.T, dir string) {
			_ = os.Remove(filepath.Join(dir, "venue.key"))
			key, err := ucan.KeyFromSeed(bytes.Repeat([]byte{7}, 32))
			if err == nil {
				err = key.WriteFile(filepath.Join(dir, "venue.key"))
			}
			if err != nil {
				t.Fatal(err)
			}
		}, "key", false},
		{"no checkpoints", func(t *testing.T, dir string) { _ = os.Remove(venue.CheckpointFile(dir)) }, "checkpoints", false},
		{"a later checkpoint", func(t *testing.T, dir string) {
			other := small(t)
			raw, err := os.ReadFile(venue.CheckpointFile(other))
			if err == nil {
				err = os.WriteFile(venue.CheckpointFile(dir), raw, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}, "ledger", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := small(t)
			tt.harm(t, dir)
			found, sound := care.Examine(t.Context(), dir, nil, time.Now())
			if sound != (tt.part == "") {
				t.Fatalf("sound is %v: %+v", sound, found)
			}
			for _, f := range found {
				if !f.Sound && (f.Fault == "" || f.Advice == "") {
					t.Errorf("%+v says not what to do", f)
				}
			}
			if tt.part != "" && !strings.Contains(fmt.Sprint(faulty(found)), tt.part) {
				t.Errorf("faults of %v, want %s", faulty(found), tt.part)
			}
			if !tt.mended {
				return
			}
			mended, err := care.Repair(t.Context(), dir, nil)
			if err != nil || (len(mended) > 0) != (tt.part != "") {
				t.Errorf("Repair = %q, %v", mended, err)
			}
			wantSound(t, dir)
		})
	}
}

func faulty(found []care.Finding) (parts []string) {
	for _, f := range found {
		if !f.Sound {
			parts = append(parts, f.Part)
		}
	}
	return parts
}

// What is sound of a damaged journal is saved, also behind the damage, and what is not
// is named; the venue of the new folder opens.
func TestSalvage(t *testing.T) {
	dir := t.TempDir()
	v, err := venue.Open(t.Context(), &venue.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	alice := venuetest.User(t, v, "alice")
	for _, name := range []string{"before", "hit-by-damage", "after"} {
		venuetest.Invoke(t, alice, "covia:write", fmt.Sprintf(`{"path":"w/%s","value":1}`, name))
	}
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	all, err := filepath.Glob(filepath.Join(dir, "journal", "*.wal"))
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	raw, err := os.ReadFile(all[0])
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(raw, []byte("w/hit-by-damage"))
	if at < 0 {
		if at = bytes.Index(raw, []byte("hit-by-damage")); at < 0 {
			t.Fatal("the record is not found")
		}
	}
	raw[at] ^= 1
	if err := os.WriteFile(all[0], raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, sound := care.Examine(t.Context(), dir, nil, time.Now()); sound {
		t.Error("the damaged folder is said to be sound")
	}
	if _, err := venue.Open(t.Context(), &venue.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "usher doctor --salvage") {
		t.Errorf("Open = %v", err)
	}
	out := filepath.Join(t.TempDir(), "out")
	s, err := care.Salvage(t.Context(), dir, out, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Lost) != 2 || !strings.HasPrefix(s.Lost[0], "record ") || !strings.Contains(s.Lost[1], "ledger.salvaged.jsonl") {
		t.Errorf("lost: %q, want one record, and the ledger that does not hold without it", s.Lost)
	}
	wantSound(t, out)
	v = venuetest.Open(t, &venue.Options{Dir: out})
	alice = venuetest.User(t, v, "alice")
	for _, name := range []string{"before", "after"} {
		if got := venuetest.Read(t, alice, "w/"+name); !strings.Contains(got, `"exists":true`) {
			t.Errorf("w/%s: %s", name, got)
		}
	}
	var said bool
	for row, err := range v.Audit(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		said = said || row.Note == "salvaged from a damaged folder" && strings.Contains(string(row.Detail), s.Lost[0])
	}
	if !said {
		t.Error("the ledger does not say that it was salvaged")
	}
}

// What a cut took from the end is named too, and of nothing no folder is made.
func TestSalvageCut(t *testing.T) {
	tests := []struct {
		name string
		harm func(wal string) error
		lost string // the first of what is lost; empty: nothing is saved
	}{
		{"whole", func(string) error { return nil }, "-"},
		{"cut", func(wal string) error { return os.Truncate(wal, 3000) }, "records "},
		{"empty", func(wal string) error { return os.Truncate(wal, 0) }, ""},
		{"gone", os.Remove, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			v, err := venue.Open(t.Context(), &venue.Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			alice := venuetest.User(t, v, "alice")
			for i := range 20 {
				venuetest.Invoke(t, alice, "covia:write", fmt.Sprintf(`{"path":"w/%d","value":1}`, i))
			}
			if err := v.Close(); err != nil {
				t.Fatal(err)
			}
			all, err := filepath.Glob(filepath.Join(dir, "journal", "*.wal"))
			if err != nil || len(all) != 1 {
				t.Fatal(all, err)
			}
			if err := tt.harm(all[0]); err != nil {
				t.Fatal(err)
			}
			out := filepath.Join(t.TempDir(), "out")
			s, err := care.Salvage(t.Context(), dir, out, nil)
			if tt.lost == "" {
				if err == nil || !strings.Contains(err.Error(), "restore it from a backup") {
					t.Errorf("Salvage = %v", err)
				}
				if _, err := os.Stat(out); err == nil {
					t.Error("a folder was made of nothing")
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if tt.lost == "-" && len(s.Lost) != 0 || tt.lost != "-" && (len(s.Lost) == 0 || !strings.HasPrefix(s.Lost[0], tt.lost)) {
				t.Errorf("lost: %q, want %q", s.Lost, tt.lost)
			}
			wantSound(t, out)
		})
	}
}
