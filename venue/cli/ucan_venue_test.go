package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"usher/ucan"
	"usher/venue/cli"
)

// shop makes a project and returns a function that runs `usher ucan` in it.
func shop(t *testing.T) func(stdin string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	dir := t.TempDir()
	if status, _, errs := usher(t, "", "init", dir); status != cli.ExitOK {
		t.Fatal(errs)
	}
	return func(stdin string, args ...string) (int, string, string) {
		t.Helper()
		return usher(t, stdin, append([]string{"ucan", args[0], "-c", filepath.Join(dir, "usher.yaml")}, args[1:]...)...)
	}
}

func openText(t *testing.T, text string) *ucan.Link {
	t.Helper()
	l, err := ucan.OpenText(strings.TrimSpace(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return l
}

func allowed(t *testing.T, tokens string, caller ucan.DID, can, with string, more ...string) bool {
	t.Helper()
	status, out, _ := usher(t, tokens, append([]string{"ucan", "verify", "--caller", caller.String(), "--can", can, "--with", with, "-"}, more...)...)
	return verify(t, status, out).Decision == "allow"
}

func TestUcanIssueAndRevoke(t *testing.T) {
	in := shop(t)
	bob := keyOf(t, 2).DID()
	status, token, errs := in("", "issue", "--audience", bob.String(), "--cap", "crud/read on w/notes", "--ttl", "1h")
	if status != cli.ExitOK {
		t.Fatal(errs)
	}
	issued := openText(t, token)
	if issued.Format != ucan.JWT || issued.Audience != bob || !strings.Contains(errs, "signed by the venue, "+issued.Issuer.String()) {
		t.Errorf("issued %s, and said %s", issued.CID, errs)
	}
	var with string
	for _, c := range issued.Capabilities() {
		with = c.With()
	}
	if !allowed(t, token, bob, "crud/read", with+"/x", "--root", issued.Issuer.String()) {
		t.Errorf("the issued token does not carry crud/read on %s", with)
	}
	if allowed(t, token, bob, "crud/read", with+"/x") {
		t.Error("the venue roots a chain for another though nobody trusts it")
	}
	if status, out, errs := in("", "issue", "--audience", bob.String(), "--cap", "crud/read on "+bob.String()+"/w"); status != cli.ExitFailed || out != "" || !strings.Contains(errs, "namespace") {
		t.Errorf("issuing in another's namespace: %d %q %q", status, out, errs)
	}

	status, out, errs := in("", "revoke", issued.CID.String())
	if status != cli.ExitOK || out != "revoked "+issued.CID.String()+"\n" {
		t.Errorf("revoke: %d %q %q", status, out, errs)
	}
	if status, _, errs := in("", "revoke", "bafy"); status != cli.ExitMisuse || !strings.Contains(errs, "usher ucan list") {
		t.Errorf("revoke of no CID: %d %q", status, errs)
	}
}

func TestUcanDelegateInVenue(t *testing.T) {
	in := shop(t)
	alice, bob := keyOf(t, 1), keyOf(t, 2).DID()
	to := []string{"delegate", "--audience", bob.String(), "--ttl", "10m"}

	status, token, errs := in("", append(to, "--cap", "crud on w/x")...)
	if status != cli.ExitOK {
		t.Fatal(errs)
	}
	own := openText(t, token)
	me := own.Issuer
	if own.Format != ucan.Native || !allowed(t, token, bob, "crud/write", me.String()+"/w/x/y") {
		t.Errorf("the token %s does not carry what it says", own.CID)
	}

	// What Alice handed to the user offline, the user hands on narrower.
	keyFile := filepath.Join(t.TempDir(), "alice.key")
	if err := alice.WriteFile(keyFile); err != nil {
		t.Fatal(err)
	}
	proof := filepath.Join(t.TempDir(), "proof")
	if status, _, errs := usher(t, "", "ucan", "delegate", "--key", keyFile, "--audience", me.String(), "--cap", "crud on w/shared", "--format", "jwt", "--out", proof); status != cli.ExitOK {
		t.Fatal(errs)
	}
	shared := alice.DID().String() + "/w/shared"
	if status, out, errs := in("", append(to, "--cap", "* on "+shared, "--proof", proof)...); status != cli.ExitFailed || out != "" || !strings.Contains(errs, "wider than what the issuer holds") {
		t.Errorf("widening: %d %q %q", status, out, errs)
	}
	status, token, errs = in("", append(to, "--cap", "crud/read on "+shared+"/a", "--proof", proof, "--format", "jwt", "--inline")...)
	if status != cli.ExitOK {
		t.Fatal(errs)
	}
	if !allowed(t, token, bob, "crud/read", shared+"/a/b") || allowed(t, token, bob, "crud/read", shared) {
		t.Error("the token that carries its proof does not carry what it says")
	}
	text, err := os.ReadFile(proof)
	if err != nil {
		t.Fatal(err)
	}
	received := openText(t, string(text))
	if status, _, errs := in("", append(to, "--cap", "crud/read on "+shared, "--proof", received.CID.String(), "--json")...); status != cli.ExitOK {
		t.Errorf("a proof by its CID: %s", errs)
	}

	// Both directions are listed, and what is revoked says so.
	if status, _, errs := in("", "revoke", own.CID.String()); status != cli.ExitOK {
		t.Error(errs)
	}
	if status, _, errs := in("", "revoke", received.CID.String()); status != cli.ExitFailed || !strings.Contains(errs, "neither issued it, nor owns what it grants") {
		t.Errorf("revoking what Alice gave: %d %q", status, errs)
	}
	_, out, _ := in("", "list", "--issued")
	for _, line := range strings.Split(out, "\n") {
		if strings.HasSuffix(line, own.CID.String()) && strings.Contains(line, "revoked") {
			out = ""
		}
	}
	if out != "" {
		t.Errorf("the list does not say that %s is revoked:\n%s", own.CID, out)
	}
	_, out, _ = in("", "list", "--received", "--json")
	var list struct {
		Tokens []struct{ CID, Direction string }
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Tokens) != 1 || list.Tokens[0].CID != received.CID.String() || list.Tokens[0].Direction != "received" {
		t.Errorf("received %v: %s", err, out)
	}
}
