package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"usher/tools/secrets"
	"usher/venue"
)

type secretsCmd struct {
	Set    secretsSetCmd    `cmd:"" help:"Store a secret, such as the key of a model, sealed in the venue."`
	List   secretsListCmd   `cmd:"" reads:"" help:"List the names of the secrets."`
	Delete secretsDeleteCmd `cmd:"" help:"Delete a secret."`
}

type secretsSetCmd struct {
	onVenue
	Name string `arg:"" help:"The secret's name; a model names it as key: secret:NAME."`
	From string `placeholder:"FILE|-" help:"Read the value from a file or standard input; one newline at its end is dropped. Without this flag, you are asked at the terminal."`

	// Taken so that an error can say why not, without repeating it.
	Value []string `arg:"" optional:"" hidden:""`
}

func (c *secretsSetCmd) Run(ctx context.Context, s *streams) error {
	if len(c.Value) > 0 {
		return misusef("a value does not belong on the command line, where the shell's history keeps it: leave it out and you are asked, or use --from FILE|-")
	}
	if err := checkSecretName(c.Name); err != nil {
		return err
	}
	if _, err := c.load(s); err != nil { // before anything is typed
		return err
	}
	if c.dir == "" {
		return misusef("%s keeps nothing on disk, so a secret would be gone at once: name a data folder with --data, or under store in the configuration", c.Config)
	}
	value, err := c.value(ctx, s)
	if err != nil {
		return err
	}
	if err := secrets.CheckValue(secrets.Value(value)); err != nil {
		return misuse{err}
	}
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		if err := u.SetSecret(ctx, c.Name, value); err != nil {
			return err
		}
		return s.answer(c.JSON, map[string]any{"name": c.Name, "stored": true}, c.Name+" is stored\n")
	})
}

// value reads the secret, from a terminal without showing it.
func (c *secretsSetCmd) value(ctx context.Context, s *streams) (string, error) {
	if c.From == "" && s.interactive() {
		return s.password(ctx, "Value of "+c.Name+" (it is not shown): ")
	}
	in, err := s.source(cmp.Or(c.From, "-"))
	if err != nil {
		return "", err
	}
	defer in.Close()
	raw, err := io.ReadAll(io.LimitReader(in, secrets.MaxValue+3)) // a newline, and one byte that is too many
	if err != nil {
		return "", misuse{err}
	}
	value := strings.TrimSuffix(strings.TrimSuffix(string(raw), "\n"), "\r")
	if value == "" && c.From == "" {
		return "", misusef("standard input is empty: pipe the value into the command, or name a file with --from FILE")
	}
	return value, nil
}

// password asks the terminal that is standard input. The terminal is raw
// meanwhile, so that Ctrl-C is read like any key and leaves it as it was.
func (s *streams) password(ctx context.Context, prompt string) (value string, err error) {
	tty := s.in.(*os.File)
	in, done := cancellable(ctx, s.in)
	defer done()
	before, err := term.MakeRaw(int(tty.Fd()))
	if err != nil {
		return "", fmt.Errorf("ask the terminal: %w; use --from FILE|-", err)
	}
	defer func() { err = errors.Join(err, term.Restore(int(tty.Fd()), before)) }()
	const most = 4096 // characters, which is what [term.Terminal] takes of a line
	value, err = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{in, s.err}, "").ReadPassword(prompt)
	if err != nil && ctx.Err() != nil {
		return "", errInterrupted
	}
	if errors.Is(err, io.EOF) { // Ctrl-C, or Ctrl-D
		return "", errors.New("nothing was stored")
	}
	if utf8.RuneCountInString(value) >= most {
		return "", misusef("a terminal takes less than %d characters: use --from FILE|-", most)
	}
	return value, err
}

type secretsListCmd struct{ onVenue }

func (c *secretsListCmd) Run(ctx context.Context, s *streams) error {
	return withAnswer(ctx, s, &c.onVenue, "secret:list", struct{}{}, func(list secretList) error {
		const none = "there are no secrets; usher secrets set stores one"
		return printList(s, c.JSON, list.Secrets, none, []string{"SECRET", "STORED"}, func(secret *secrets.Secret) []string {
			return []string{secret.Name, s.local(time.UnixMilli(secret.Updated)).Format(time.DateTime)}
		})
	})
}

type secretsDeleteCmd struct {
	onVenue
	Name string `arg:"" help:"The secret's name."`
}

func (c *secretsDeleteCmd) Run(ctx context.Context, s *streams) error {
	if err := checkSecretName(c.Name); err != nil {
		return err
	}
	return c.withVenue(ctx, s, func(_ *venue.Venue, u *venue.User) error {
		done, err := ask[struct {
			Name    string `json:"name"`
			Deleted bool   `json:"deleted"`
		}](ctx, u, "secret:delete", map[string]string{"name": c.Name})
		if err != nil {
			return err
		}
		if done.Deleted {
			return s.answer(c.JSON, done, c.Name+" is deleted\n")
		}
		list, err := ask[secretList](ctx, u, "secret:list", struct{}{})
		if err != nil {
			return err
		}
		return unknown("there is no secret", c.Name, list.Secrets, func(s secrets.Secret) string { return s.Name })
	})
}

type secretList struct{ Secrets []secrets.Secret }

// checkSecretName says what is wrong with a name, and why it is not repeated.
func checkSecretName(name string) error {
	err := secrets.CheckName(name)
	if err != nil && name != "" {
		err = fmt.Errorf("%w (the name is not repeated here: by mistake it is often the value)", err)
	}
	if err != nil {
		return misuse{err}
	}
	return nil
}
