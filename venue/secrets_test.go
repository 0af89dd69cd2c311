package venue_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"usher/caps"
	"usher/runtime"
	"usher/tools"
	"usher/tools/secrets"
	"usher/ucan"
	"usher/venue"
	"usher/venue/store/journal"
)

// value is a secret that nothing else in a venue looks like.
const value = "sk-q7Zr2mVt9LxW4"

func setSecret(t testing.TB, u *venue.User, name, value string) {
	t.Helper()
	if err := u.SetSecret(t.Context(), name, value); err != nil {
		t.Fatal(err)
	}
}

// inFiles says which files below dir hold the text.
func inFiles(t testing.TB, dir, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(text)) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// What is kept is there after a restart, and stands nowhere as it is: not in
// the files, the ledger, the records of jobs and runs, or an error.
func TestASecretIsKeptSealed(t *testing.T) {
	dir := t.TempDir()
	at := time.UnixMilli(1_800_000_000_000)
	opts := &venue.Options{Dir: dir, Now: func() time.Time { return at }}
	v, err := venue.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	alice := user(t, v, "alice")
	setSecret(t, alice, "OPENAI", value)
	set := `{"name":"OPENAI","value":"` + value + `"}`
	if got := invoke(t, alice, "secret:set", set); got != `{"name":"OPENAI","stored":true}` {
		t.Errorf("secret:set: %s", got)
	}
	var told strings.Builder
	for op, input := range map[string]string{
		"a name that is the value":  `{"name":"` + value + `/","value":"x"}`,
		"a value that is too long":  `{"name":"A","value":"` + strings.Repeat(value, 5000) + `"}`,
		"a value that is no text":   `{"name":"A","value":["` + value + `"]}`,
		"a value that is no string": `{"name":"A","value":{"` + value + `":1}}`,
	} {
		_, err := alice.Invoke(t.Context(), "secret:set", json.RawMessage(input))
		if _, wrong := errors.AsType[*tools.InputError](err); !wrong {
			t.Errorf("%s: %v, want an input error", op, err)
			continue
		}
		told.WriteString(err.Error())
	}
	rows := 0
	for row, err := range v.Audit(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		told.Write(raw)
		if row.Entry == nil {
			continue
		}
		switch {
		case strings.HasPrefix(row.Operation, "v/ops/secret/"), row.Operation == "v/ops/grid/run", row.Operation == "v/ops/grid/invoke":
			rows++
			if row.Digest != "" {
				t.Errorf("the ledger has a digest by which the value could be guessed: %s", raw)
			}
		}
	}
	if rows < 3 {
		t.Errorf("%d decisions on secrets in the ledger", rows)
	}
	if strings.Contains(told.String(), value) {
		t.Errorf("the value is told: %s", told.String())
	}
	invoke(t, alice, "covia:write", `{"path":"w/plain","value":"found-by-the-search"}`)
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	if found := inFiles(t, dir, value); found != nil {
		t.Errorf("the value stands in %v", found)
	}
	if inFiles(t, dir, "found-by-the-search") == nil {
		t.Error("the search finds nothing, whatever is there")
	}

	alice = user(t, open(t, opts), "alice")
	if got := invoke(t, alice, "secret:extract", `{"name":"OPENAI"}`); got != `{"name":"OPENAI","value":"`+value+`"}` {
		t.Errorf("after the restart: %s", got)
	}
	if got := invoke(t, alice, "secret:list", `{}`); got != `{"secrets":[{"name":"OPENAI","updated":1800000000000}]}` {
		t.Errorf("secret:list: %s", got)
	}
	if got := invoke(t, alice, "secret:delete", `{"name":"OPENAI"}`); got != `{"name":"OPENAI","deleted":true}` {
		t.Errorf("secret:delete: %s", got)
	}
	if got := invoke(t, alice, "secret:delete", `{"name":"OPENAI"}`); got != `{"name":"OPENAI","deleted":false}` {
		t.Errorf("secret:delete again: %s", got)
	}
	if got := invoke(t, alice, "secret:list", `{}`); got != `{"secrets":[]}` {
		t.Errorf("secret:list of nothing: %s", got)
	}
}

func TestSecretsAreTheirOwnersAlone(t *testing.T) {
	v := open(t, nil)
	alice, bob := user(t, v, "alice"), user(t, v, "bob")
	setSecret(t, alice, "OPENAI", value)
	setSecret(t, bob, "MINE", "x")
	there := alice.DID().String() + "/s/OPENAI"
	for op, input := range map[string]string{
		"secret:extract": `{"name":"OPENAI"}`,
		"covia:read":     `{"path":"` + there + `"}`,
		"covia:list":     `{"path":"` + alice.DID().String() + `/s"}`,
		"covia:copy":     `{"from":"` + there + `","to":"w/it"}`,
	} {
		out, err := bob.Invoke(t.Context(), op, json.RawMessage(input))
		_, denied := errors.AsType[*caps.Denial](err)
		_, none := errors.AsType[*secrets.NoSecretError](err)
		if !denied && !none || strings.Contains(string(out), value) {
			t.Errorf("bob's %s %s: %s, %v", op, input, out, err)
		}
	}
	if _, err := bob.Invoke(t.Context(), "secret:extract", json.RawMessage(`{"name":"`+there+`"}`)); err == nil {
		t.Error("bob names alice's secret by its path, and gets it")
	}
	if got := invoke(t, bob, "secret:list", `{}`); strings.Contains(got, "OPENAI") {
		t.Errorf("bob sees %s", got)
	}
	// Nor does the workspace show its owner what lies there.
	for op, input := range map[string]string{
		"covia:read": `{"path":"s/OPENAI"}`, "covia:write": `{"path":"s/OPENAI","value":"y"}`, "covia:delete": `{"path":"s/OPENAI"}`,
	} {
		_, err := alice.Invoke(t.Context(), op, json.RawMessage(input))
		if _, denied := errors.AsType[*caps.Denial](err); !denied {
			t.Errorf("alice's %s on s/: %v, want a denial", op, err)
		}
	}
}

// An agent does with secrets what its capabilities say, one name at a time.
func TestAgentsAndSecrets(t *testing.T) {
	all := map[string]string{
		"secret_set": `{"name":"A","value":"new"}`, "secret_extract": `{"name":"A"}`, "secret_list": `{}`, "secret_delete": `{"name":"A"}`,
	}
	for name, tc := range map[string]struct {
		caps string
		may  []string
	}{
		"store only":     {`[{"with":"s/","can":"secret/store"}]`, []string{"secret_set"}},
		"decrypt one":    {`[{"with":"s/A","can":"secret/decrypt"}]`, []string{"secret_extract"}},
		"decrypt others": {`[{"with":"s/B","can":"secret/decrypt"},{"with":"s/AB","can":"secret"}]`, nil},
		"names":          {`[{"with":"s/","can":"secret/list"}]`, []string{"secret_list"}},
		"all of one":     {`[{"with":"s/A","can":"secret"}]`, []string{"secret_delete", "secret_extract", "secret_set"}},
		"crud is not it": {`[{"with":"s/","can":"crud"},{"with":"w/","can":"secret"}]`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := new(puppet)
			v := open(t, with(p))
			alice := user(t, v, "alice")
			s := spec("carol", "", tc.caps)
			s.Tools = []string{"secret:*"}
			carol := create(t, alice, s)
			for tool, arguments := range all {
				setSecret(t, alice, "A", value)
				p.Ask(tool, arguments)
				may := false
				for _, name := range tc.may {
					may = may || name == tool
				}
				for _, ev := range chat(t, carol, "go") {
					done, ok := ev.(runtime.ToolEnd)
					if !ok {
						continue
					}
					if (done.Outcome == runtime.ToolOK) != may || !may && done.Outcome != runtime.ToolDenied {
						t.Errorf("%s: %s %s", tool, done.Outcome, done.Result)
					}
					if strings.Contains(done.Result, value) {
						t.Errorf("%s shows %s to whoever listens", tool, done.Result)
					}
					if told := p.Results(); strings.Contains(told[len(told)-1], value) != (may && tool == "secret_extract") {
						t.Errorf("%s gives the model %s", tool, told[len(told)-1])
					}
				}
			}
			if told := strings.Join(p.Systems(), "\n"); strings.Contains(told, value) {
				t.Errorf("the prompt discloses the value: %s", told)
			}
		})
	}
}

func TestAKeyFileThatIsNotTheOne(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(file string) error
		want  string
	}{
		"lost": {os.Remove, "venue.key is missing, and without it no key or secret of this data folder opens: restore it from a backup"},
		"another": {
			func(file string) error {
				other, err := ucan.NewKey(rand.Reader)
				return errors.Join(err, os.Remove(file), other.WriteFile(file))
			},
			"venue.key the key file of this data folder? Restore that one from a backup",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			v, err := venue.Open(t.Context(), &venue.Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			setSecret(t, user(t, v, "alice"), "OPENAI", value)
			if err := v.Close(); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "venue.key")
			if err := tc.spoil(file); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the first attempt leaves no new key behind
				if v, err := venue.Open(t.Context(), &venue.Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("Open: %v, want %q", err, tc.want)
					if err == nil {
						_ = v.Close()
					}
				}
			}
		})
	}
}

// A box that somebody moved to another place in the store does not open there.
func TestSwappedBoxesAreDetected(t *testing.T) {
	dir := t.TempDir()
	v, err := venue.Open(t.Context(), &venue.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	alice, bob := user(t, v, "alice"), user(t, v, "bob")
	setSecret(t, alice, "LOW", "low")
	setSecret(t, alice, "HIGH", value)
	setSecret(t, bob, "LOW", "bob's")
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}

	st, err := journal.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	space := st.Under("s/")
	high, _, err := space.Get(t.Context(), alice.DID().String()+"/HIGH")
	if err != nil || high == nil {
		t.Fatalf("the box of alice's secret is not where it was: %v", err)
	}
	_, err = space.Apply(t.Context(), nil, map[string][]byte{
		alice.DID().String() + "/LOW": high, bob.DID().String() + "/HIGH": high,
	}, nil)
	if err := errors.Join(err, st.Close()); err != nil {
		t.Fatal(err)
	}

	v = open(t, &venue.Options{Dir: dir})
	alice, bob = user(t, v, "alice"), user(t, v, "bob")
	for _, tc := range []struct {
		user *venue.User
		name string
		want error
	}{{alice, "HIGH", nil}, {alice, "LOW", ucan.ErrSealed}, {bob, "HIGH", ucan.ErrSealed}, {bob, "LOW", nil}} {
		out, err := tc.user.Invoke(t.Context(), "secret:extract", map[string]string{"name": tc.name})
		if !errors.Is(err, tc.want) || (err == nil) != (tc.want == nil) || tc.want != nil && strings.Contains(string(out), value) {
			t.Errorf("%s's %s: %s, %v, want %v", tc.user.DID(), tc.name, out, err, tc.want)
		}
	}
	setSecret(t, alice, "LOW", "anew")
	if got := invoke(t, alice, "secret:extract", `{"name":"LOW"}`); got != `{"name":"LOW","value":"anew"}` {
		t.Errorf("stored anew: %s", got)
	}
}

// However a value is made, it comes back as it was.
func TestSecretsComeBackAsTheyWere(t *testing.T) {
	alice := user(t, open(t, &venue.Options{Dir: t.TempDir()}), "alice")
	for name, value := range map[string]string{
		"lines": "-----BEGIN-----\r\nabc\n", "signs": `<>&"\` + "\x00\t ", "letters": "ключ 🔑", "longest": strings.Repeat("x", secrets.MaxValue),
	} {
		setSecret(t, alice, name, value)
		var got secrets.Value
		out, err := alice.Invoke(t.Context(), "secret:extract", map[string]string{"name": name})
		if err == nil {
			err = json.Unmarshal(out, &struct{ Value *secrets.Value }{&got})
		}
		if diff := cmp.Diff(value, string(got)); err != nil || diff != "" {
			t.Errorf("%s (-want +got)\n%s%v", name, diff, err)
		}
	}
	for name, value := range map[string]string{"EMPTY": "", "LONG": strings.Repeat("x", secrets.MaxValue+1), "BYTES": "\xff\xfe", "..": "x"} {
		if err := alice.SetSecret(context.Background(), name, value); err == nil {
			t.Errorf("%s is stored", name)
		}
	}
}
