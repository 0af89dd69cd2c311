package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/age"

	"usher/venue/care"
)

// folderFlags name a data folder: itself, or by its configuration.
type folderFlags struct {
	Config string `short:"c" default:"usher.yaml" placeholder:"FILE" help:"Configuration whose data folder it is, where none is named."`
	JSON   bool   `name:"json" help:"Print as JSON."`
}

// folder is the data folder, and where the configuration has more checkpoints.
func (f *folderFlags) folder(s *streams, named string) (dir string, places []string, err error) {
	dir = named
	if dir == "" {
		from := fromConfig{Config: f.Config}
		c, err := from.load(s)
		if err != nil {
			return "", nil, err
		}
		if from.dir == "" {
			return "", nil, misusef("%s keeps nothing on disk: name a data folder", f.Config)
		}
		dir, places = from.dir, c.CheckpointPlaces()
	}
	if at, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) || err == nil && !at.IsDir() {
		return "", nil, misusef("there is no data folder %s", dir)
	}
	return dir, places, nil
}

type doctorCmd struct {
	folderFlags
	Dir       string `arg:"" optional:"" help:"The data folder; without it, that of the configuration."`
	Repair    bool   `help:"Have a doubtful index made anew, and damaged snapshots replaced. Nobody else may have the folder open."`
	SalvageTo string `name:"salvage" placeholder:"OUT" help:"Save what is sound into a new folder OUT, and list what is not."`
}

// checkup is what doctor prints as JSON.
type checkup struct {
	Dir    string         `json:"dir"`
	Sound  bool           `json:"sound"`
	Mended []string       `json:"mended,omitempty"`
	Found  []care.Finding `json:"found"`
}

func (c *doctorCmd) Run(ctx context.Context, s *streams) error {
	if c.Repair && c.SalvageTo != "" {
		return misusef("--repair mends this folder, and --salvage leaves it and makes another: give one of them")
	}
	dir, places, err := c.folder(s, c.Dir)
	if err != nil {
		return err
	}
	tell, done := s.progress()
	defer done()
	if c.SalvageTo != "" {
		return c.salvage(ctx, s, dir, tell, done)
	}
	out := checkup{Dir: dir}
	if c.Repair {
		if out.Mended, err = care.Repair(ctx, dir, tell); err != nil {
			return err
		}
	}
	out.Found, out.Sound = care.Examine(ctx, dir, places, time.Now())
	done()
	rows := [][]string{{"PART", "STATE", "LOOKED AT"}}
	for _, f := range out.Found {
		state := "sound"
		if !f.Sound {
			state = "NOT SOUND"
		}
		rows = append(rows, []string{f.Part, state, orDash(f.Looked)})
	}
	if err := s.answer(c.JSON, out, s.columns(rows)); err != nil {
		return err
	}
	if !c.JSON {
		for _, text := range out.Mended {
			s.note("mended: " + text)
		}
		for _, f := range out.Found {
			if !f.Sound {
				text := f.Part + ": " + f.Fault
				if !strings.HasSuffix(f.Fault, f.Advice) {
					text += "\n      " + f.Advice
				}
				s.warn(text)
			}
		}
	}
	if !out.Sound {
		return errQuiet
	}
	return nil
}

// lockFlags say who can open a backup.
type lockFlags struct {
	Recipient      []string `placeholder:"age1…|@FILE" help:"Encrypt it for this recipient of age, or for those in a file."`
	PassphraseFile string   `placeholder:"FILE" help:"Encrypt it with the passphrase in this file. Without it and a recipient, you are asked at the terminal."`
	Plain          bool     `help:"Do not encrypt it: whoever has it has all keys and secrets of the venue."`
}

func (l *lockFlags) lock(ctx context.Context, s *streams) (lock care.Lock, err error) {
	ways := 0
	for _, given := range []bool{len(l.Recipient) > 0, l.PassphraseFile != "", l.Plain} {
		if given {
			ways++
		}
	}
	if ways > 1 {
		return lock, misusef("--recipient, --passphrase-file and --plain exclude each other")
	}
	lock.Plain = l.Plain
	for _, text := range l.Recipient {
		if text, err = s.argument(text); err != nil {
			return lock, err
		}
		var more []age.Recipient
		if more, err = care.ParseRecipients(text); err != nil {
			return lock, misusef("--recipient: %w: write age1…, or @FILE with one a line", err)
		}
		lock.Recipients = append(lock.Recipients, more...)
	}
	if ways > 0 && l.PassphraseFile == "" {
		return lock, nil
	}
	lock.Passphrase, err = s.passphrase(ctx, l.PassphraseFile, true)
	return lock, err
}

// passphrase reads one from a file, or asks the terminal: twice, where a slip would
// lock it up.
func (s *streams) passphrase(ctx context.Context, file string, twice bool) (string, error) {
	if file != "" {
		raw, err := s.readFile(file)
		if err != nil {
			return "", misuse{err}
		}
		text := strings.TrimRight(string(raw), "\r\n")
		if text == "" {
			return "", misusef("%s has no passphrase", file)
		}
		return text, nil
	}
	if !s.interactive() {
		return "", misusef("there is no terminal to ask for the passphrase: give --passphrase-file FILE%s", map[bool]string{true: ", --recipient age1…, or --plain", false: " or --identity FILE"}[twice])
	}
	text, err := s.password(ctx, "Passphrase (it is not shown): ")
	if err == nil && text == "" {
		err = misusef("a passphrase has at least one character")
	}
	if err != nil || !twice {
		return text, err
	}
	again, err := s.password(ctx, "Once more: ")
	if err == nil && again != text {
		err = misusef("the two differ: nothing was written")
	}
	return text, err
}

type backupCmd struct {
	folderFlags
	lockFlags
	Where []string `arg:"" optional:"" name:"[dir] out" help:"The data folder, if it is not the configuration's, and the file to write; - is standard output."`
}

// backupResult is what backup prints as JSON.
type backupResult struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	care.Manifest
}

func (c *backupCmd) Run(ctx context.Context, s *streams) error {
	if len(c.Where) == 0 {
		return misusef("say which file to write: usher backup OUT, or usher backup DIR OUT of a data folder that is not the configuration's")
	}
	if len(c.Where) > 2 {
		return misusef("give a data folder and a file: usher backup DIR OUT")
	}
	named, out := "", c.Where[len(c.Where)-1]
	if len(c.Where) == 2 {
		named = c.Where[0]
	}
	dir, _, err := c.folder(s, named)
	if err != nil {
		return err
	}
	if out != "-" && s.exists(out) {
		return misusef("%s is there already: name a new file", out)
	}
	if inside(dir, out) {
		return misusef("%s is in the data folder that it is a backup of: name a file elsewhere", out)
	}
	if out == "-" && s.paint.tty != nil {
		return misusef("a backup is no text for a terminal: redirect it")
	}
	lock, err := c.lock(ctx, s)
	if err != nil {
		return err
	}
	tell, done := s.progress()
	defer done()
	if out == "-" {
		m, err := care.Stream(ctx, dir, s.out, lock, tell)
		done()
		if err == nil {
			s.note(fmt.Sprintf("wrote %s up to record %d; it was not read back: usher restore checks it", many(len(m.Parts), "part"), m.Position))
		}
		return err
	}
	m, size, err := care.Backup(ctx, dir, out, lock, tell)
	done()
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s %s: %s of %s, read back and as it should be\n", s.paint.good("✓"), out, byteSize(size), dir)
	return s.answer(c.JSON, backupResult{out, size, m}, text)
}

// byteSize is a number of bytes, for people.
func byteSize(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
}

// inside reports whether a file would lie in a folder.
func inside(dir, file string) bool {
	real := func(path string) string {
		path, _ = filepath.Abs(path)
		if to, err := filepath.EvalSymlinks(path); err == nil {
			return to
		}
		return path
	}
	rel, err := filepath.Rel(real(dir), real(filepath.Dir(file)))
	return file != "-" && err == nil && filepath.IsLocal(rel)
}

type restoreCmd struct {
	Backup         string   `arg:"" help:"The backup."`
	Dir            string   `arg:"" help:"The data folder to make: a new one, or an empty one."`
	At             timeFlag `placeholder:"TIME" help:"The state of this moment, such as 2026-05-04T12:00:00Z. What was revoked, ended or used since stays so."`
	Identity       string   `placeholder:"FILE" help:"Open the backup with the identities of age in this file."`
	PassphraseFile string   `placeholder:"FILE" help:"Open it with the passphrase in this file. Without it and an identity, you are asked at the terminal."`
	JSON           bool     `name:"json" help:"Print as JSON."`
}

func (c *restoreCmd) Run(ctx context.Context, s *streams) error {
	if c.Identity != "" && c.PassphraseFile != "" {
		return misusef("--identity and --passphrase-file exclude each other")
	}
	if c.Backup == "-" {
		return misusef("a backup is not read from standard input: store it in a file first")
	}
	if at, err := s.stat(c.Dir); err == nil && !at.IsDir() || c.Dir == "" {
		return misusef("%q is no folder: name a new one, or an empty one", c.Dir)
	}
	in, err := s.open(c.Backup)
	if err != nil {
		return misuse{err}
	}
	defer in.Close()
	key, err := c.key(ctx, s, in)
	if err != nil {
		return err
	}
	tell, done := s.progress()
	defer done()
	r, err := care.Restore(ctx, in, key, c.Dir, c.At.Time, tell)
	done()
	if errors.Is(err, care.ErrNotNew) {
		return misuse{err}
	}
	if err != nil {
		return err
	}
	if c.At.IsZero() {
		s.note("its ledger goes on from the backup's")
	} else {
		if r.Kept > 0 {
			s.note(many(r.Kept, "record") + " of later held on to: what was revoked, ended or used since stays so")
		}
		if c.At.After(r.Began) {
			s.note("the backup was begun at " + stamp(r.Began) + ": it has nothing of later")
		}
		s.note("where a configuration names files under ledger.checkpoints, name others before it opens the folder: those have later checkpoints")
	}
	text := fmt.Sprintf("%s %s: the state of %s, record %d\n", s.paint.good("✓"), c.Dir, s.local(r.Time).Format(time.RFC3339), r.Position)
	return s.answer(c.JSON, r, text)
}

// key opens the backup, where it is locked.
func (c *restoreCmd) key(ctx context.Context, s *streams, in *os.File) (care.Key, error) {
	start := make([]byte, 64)
	n, err := in.ReadAt(start, 0)
	if n == 0 {
		return care.Key{}, misusef("%s is no backup: %w", c.Backup, cmp.Or(err, errors.New("it is empty")))
	}
	if !care.IsLocked(start[:n]) {
		if c.Identity != "" || c.PassphraseFile != "" {
			s.warn(c.Backup + " is not encrypted: nothing was needed to open it")
		}
		return care.Key{}, nil
	}
	if c.Identity != "" {
		raw, err := s.readFile(c.Identity)
		if err != nil {
			return care.Key{}, misuse{err}
		}
		key, err := care.IdentityKey(string(raw))
		if err != nil {
			err = misusef("--identity: %s has no identity of age", c.Identity)
		}
		return key, err
	}
	text, err := s.passphrase(ctx, c.PassphraseFile, false)
	if err != nil {
		return care.Key{}, err
	}
	return care.PassphraseKey(text)
}

// salvage saves what is sound of a folder into another.
func (c *doctorCmd) salvage(ctx context.Context, s *streams, dir string, tell func(string), done func()) error {
	saved, err := care.Salvage(ctx, dir, c.SalvageTo, tell)
	done()
	if errors.Is(err, care.ErrNotNew) {
		return misuse{err}
	}
	if err != nil {
		return err
	}
	text := fmt.Sprintf("%s %s: %s up to record %d\n", s.paint.good("✓"), c.SalvageTo, many(saved.Rows, "row"), saved.Last.Position)
	if err := s.answer(c.JSON, saved, text); err != nil {
		return err
	}
	if len(saved.Lost) == 0 {
		return nil
	}
	if !c.JSON {
		s.lines("lost: ", saved.Lost)
	}
	return errQuiet
}
