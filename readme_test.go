package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"usher/venue/cli"
)

// blocks returns the fenced blocks of README.md of one language.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	return blocksOf(t, "README.md", language)
}

func blocksOf(t *testing.T, page, language string) []string {
	t.Helper()
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllSubmatch(raw, -1) {
		out = append(out, string(m[1]))
	}
	if len(out) == 0 {
		t.Fatalf("%s has no %s block", page, language)
	}
	return out
}

// usher runs the command in dir and returns what it prints.
func usher(t *testing.T, dir string, args ...string) string {
	t.Helper()
	t.Chdir(dir)
	var out, notes bytes.Buffer
	p := program()
	p.Stdin, p.Stdout, p.Stderr = strings.NewReader(""), &out, &notes
	if status := p.Run(t.Context(), args); status == cli.ExitMisuse {
		t.Fatalf("usher %q: %s", args, notes.String())
	}
	return out.String()
}

func TestReadmeIsTrue(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "for-the-test")
	t.Setenv("ANTHROPIC_API_KEY", "for-the-test")
	configuration := blocks(t, "yaml")
	disclosure := blocks(t, "text")[0]
	consoles := blocks(t, "console")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "usher.yaml"), []byte(configuration[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, text := range configuration {
		checkConfiguration(t, text, fmt.Sprintf("README.md, configuration %d", i+1))
	}
	if got := usher(t, dir, "agents", "show", "Carol"); !strings.HasSuffix(got, disclosure) {
		t.Errorf("agents show Carol ends otherwise than the README says:\n%s", got)
	}
	ran := 0
	for _, block := range consoles {
		line, want, _ := strings.Cut(block, "\n")
		command, ok := strings.CutPrefix(line, "$ usher ")
		if !ok {
			continue
		}
		ran++
		if got := usher(t, dir, shellWords(command)...); got != want {
			t.Errorf("usher %s prints\n%s\nREADME says\n%s", command, got, want)
		}
	}
	if ran < 2 {
		t.Errorf("only %d commands of the README ran", ran)
	}
}

// The chain of authority of the README is made, handed on and allowed as pasted.
func TestReadmeDelegates(t *testing.T) {
	var lines []string
	for _, block := range blocks(t, "console") {
		if strings.HasPrefix(block, "ALICE=") {
			lines = strings.Split(strings.TrimSpace(block), "\n")
		}
	}
	if len(lines) == 0 {
		t.Fatal("README.md has no such block")
	}
	t.Chdir(t.TempDir())
	names, last := make(map[string]string), ""
	for _, line := range lines {
		name, command := "", line
		if m := regexp.MustCompile(`^([A-Z]+)=\$\((.*)\)$`).FindStringSubmatch(line); m != nil {
			name, command = m[1], m[2]
		}
		words := shellWords(os.Expand(command, func(name string) string { return names[name] }))
		last = usher(t, ".", words[1:]...)
		if name != "" {
			names[name] = strings.TrimSpace(last)
		}
	}
	if !strings.Contains(last, `"decision": "allow"`) {
		t.Errorf("%s prints\n%s", lines[len(lines)-1], last)
	}
}

// A folder is backed up, restored, looked after and exported as pasted.
func TestReadmeBacksUp(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"usher.yaml": blocks(t, "yaml")[0], "passphrase": "a long passphrase\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	commands := blocks(t, "sh") // before usher changes the folder
	usher(t, dir, "run", "Carol", "read w/docs/policy")
	ran := 0
	for _, block := range commands {
		for line := range strings.Lines(block) {
			if !strings.HasPrefix(block, "usher backup ") {
				break
			}
			ran++
			var notes bytes.Buffer
			p := program()
			p.Stdin, p.Stdout, p.Stderr = strings.NewReader(""), new(bytes.Buffer), &notes
			if status := p.Run(t.Context(), shellWords(line)[1:]); status != cli.ExitOK {
				t.Errorf("%s ends with %d: %s", line, status, notes.String())
			}
		}
	}
	if ran < 6 {
		t.Errorf("only %d commands ran", ran)
	}
}

// Every configuration of the providers' pages works as it is pasted.
func TestPagesAreTrue(t *testing.T) {
	for _, name := range []string{"OPENAI", "AZURE_OPENAI", "OPENROUTER", "GROQ", "DEEPSEEK", "ANTHROPIC"} {
		t.Setenv(name+"_API_KEY", "for-the-test")
	}
	configurations := make(map[string]string)
	for _, page := range []string{"runtime/openai/README.md", "runtime/anthropic/README.md", "runtime/wrap/README.md"} {
		for i, text := range blocksOf(t, page, "yaml") {
			configurations[fmt.Sprintf("%s, configuration %d", page, i+1)] = text
		}
	}
	for what, text := range configurations {
		checkConfiguration(t, text, what)
	}
}

// checkConfiguration finds nothing wrong with a configuration, and opens it.
func checkConfiguration(t *testing.T, text, what string) {
	t.Helper()
	project := t.TempDir()
	if err := os.WriteFile(filepath.Join(project, "usher.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := usher(t, project, "lint"); !strings.Contains(got, "nothing to complain about") {
		t.Errorf("lint of %s says:\n%s", what, got)
	}
	usher(t, project, "agents", "list") // the venue opens
}

// shellWords splits a command line with single and double quotes.
func shellWords(line string) []string {
	var words []string
	for _, m := range regexp.MustCompile(`'([^']*)'|"([^"]*)"|(\S+)`).FindAllStringSubmatch(line, -1) {
		words = append(words, m[1]+m[2]+m[3])
	}
	return words
}

// The Go of the README is the Go of tested examples.
func TestReadmeGoIsTested(t *testing.T) {
	tested := ""
	for _, file := range []string{"venue/example_test.go", "examples/provider/provider.go"} {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// As it stands, and as the body of a function.
		tested += string(raw) + strings.ReplaceAll(string(raw), "\n\t", "\n")
	}
	for _, block := range blocks(t, "go") {
		if !strings.Contains(tested, "\n"+block) {
			t.Errorf("no tested example has the README's\n%s", block)
		}
	}
}

// Every direct dependency has its reason, and no other stands there.
func TestReadmeListsTheDependencies(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(readme), "\n## Dependencies\n")
	direct := make(map[string]bool)
	for _, m := range regexp.MustCompile(`(?m)^(?:require)?\s+(\S+\.\S+) v\S+$`).FindAllSubmatch(mod, -1) {
		direct[string(m[1])] = true
		if !strings.Contains(table, "`"+string(m[1])+"`") {
			t.Errorf("the README's table lacks %s", m[1])
		}
	}
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(table, -1) {
		if !direct[m[1]] {
			t.Errorf("the README's table has %s, which is no direct dependency", m[1])
		}
	}
}
