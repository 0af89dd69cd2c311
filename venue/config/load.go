package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"usher/runtime/wrap"
	"usher/tools/form"
)

// Load reads a configuration: the file at path, or all *.yaml and *.yml files
// of the folder at path, those of its subfolders and hidden ones apart. Files
// that it names, such as a prompt_file, are read from the same folder and below.
func Load(path string) (*Config, error) {
	r := Read(path)
	return r.Config, r.Err
}

// Reading is what [Read] found, of a configuration with faults too.
type Reading struct {
	Config   *Config  // nil where there is an error
	Err      error    // as [Load] returns it
	Files    []string // that were read, or could not be
	StoreDir string   // the data folder, as far as it could be read; empty keeps nothing
}

// Read is [Load] for those who also have to know what a faulty configuration is of.
func Read(path string) (out Reading) {
	dir, name := path, "."
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		dir, name = filepath.Split(path)
		dir = filepath.Clean(dir)
	}
	abs, wrong := filepath.Abs(dir)
	var root *os.Root // does not follow links that lead out of it
	if err = cmp.Or(err, wrong); err == nil {
		root, err = os.OpenRoot(dir)
	}
	if err != nil {
		return Reading{Err: fmt.Errorf("load configuration: %w", err)}
	}
	defer root.Close()
	r := newReader(root.FS(), func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) })
	r.cfg.Dir = abs
	out.Config, out.Err = r.load(name)
	read := Config{Store: cmp.Or(r.cfg.Store, defaultStore), Dir: abs}
	out.Files, out.StoreDir = r.files, read.StoreDir()
	return out
}

// defaultStore is the data folder of a configuration that names none.
const defaultStore = ".usher"

// LoadFS is [Load] for a configuration in fsys, for example an embedded one.
func LoadFS(fsys fs.FS, name string) (*Config, error) {
	return newReader(fsys, func(name string) string { return name }).load(name)
}

// Parse reads a configuration of one file from memory. name stands in errors.
// The configuration cannot name files.
func Parse(name string, data []byte) (*Config, error) {
	r := newReader(nil, nil)
	r.source(name, data)
	base := path.Base(filepath.ToSlash(name))
	return r.finish(strings.TrimSuffix(base, path.Ext(base)))
}

// reader gathers a configuration from its files.
type reader struct {
	cfg    *Config
	faults []error
	fsys   fs.FS                    // nil when nothing can be read
	shown  func(name string) string // a file's name for errors
	dir    string                   // of the configuration, in fsys
	files  []string                 // that were read, as errors show them
}

func newReader(fsys fs.FS, shown func(string) string) *reader {
	return &reader{cfg: &Config{Models: map[string]Model{}, entries: map[string]entry{}}, fsys: fsys, shown: shown}
}

func (r *reader) add(at place, format string, args ...any) {
	r.faults = append(r.faults, at.fault(format, args...))
}

func (r *reader) load(name string) (*Config, error) {
	info, err := fs.Stat(r.fsys, name)
	if err != nil {
		return nil, fmt.Errorf("load configuration: %w", err)
	}
	files := []string{name}
	r.dir = path.Dir(name)
	if info.IsDir() {
		r.dir = name
		if files, err = yamlFiles(r.fsys, name); err != nil {
			return nil, fmt.Errorf("load configuration: %w", err)
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("load configuration: %s has no *.yaml file: write one, for example usher.yaml", r.shown(name))
		}
	}
	r.cfg.Dir = cmp.Or(r.cfg.Dir, r.dir)
	for _, file := range files {
		data, err := r.readFile(file)
		if err != nil {
			r.add(place{src: newSource(r.shown(file), "")}, "%v", err)
			continue
		}
		r.source(r.shown(file), data)
	}
	return r.finish(filepath.Base(r.cfg.Dir))
}

func yamlFiles(fsys fs.FS, dir string) ([]string, error) {
	entries, err := fs.ReadDir(fsys, dir) // sorted
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		ext := path.Ext(e.Name())
		if !e.IsDir() && !strings.HasPrefix(e.Name(), ".") && (ext == ".yaml" || ext == ".yml") {
			files = append(files, path.Join(dir, e.Name()))
		}
	}
	return files, nil
}

func (r *reader) readFile(name string) ([]byte, error) {
	r.files = append(r.files, r.shown(name))
	return readFile(r.fsys, name)
}

// readFile reads a file of at most [maxFileBytes].
func readFile(fsys fs.FS, name string) ([]byte, error) {
	var data []byte
	f, err := fsys.Open(name)
	if err == nil {
		defer f.Close()
		data, err = io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	}
	var pathErr *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, errors.New("there is no such file")
	case errors.As(err, &pathErr): // the path stands before the message already
		return nil, fmt.Errorf("cannot read the file: %w", pathErr.Err)
	case len(data) > maxFileBytes:
		return nil, fmt.Errorf("the file is above %d MiB: split it", maxFileBytes>>20)
	}
	return data, err
}

var errNotUTF8 = errors.New("the file is not UTF-8: save it as UTF-8")

// source reads one file into the configuration.
func (r *reader) source(name string, data []byte) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	src := newSource(name, string(data))
	text := strings.ToValidUTF8(string(data), "\x00")
	if i := strings.IndexFunc(text, func(c rune) bool { return c < ' ' && !strings.ContainsRune("\t\n\r", c) }); i >= 0 {
		wrong := errNotUTF8
		if utf8.Valid(data) {
			wrong = errors.New("a control character cannot stand here: leave it out, or write it as an escape in double quotes")
		}
		before, last := strings.Count(text[:i], "\n"), text[strings.LastIndexByte(text[:i], '\n')+1:i]
		r.add((&source{name: name}).at(form.Pos{Line: 1 + before, Column: 1 + utf8.RuneCountInString(last)}), "%v", wrong) // what is no text is not shown
	} else if root := r.parse(src, data); root != nil {
		r.root(src, root)
	}
}

// parse returns the content of a file, or nil when there is none or a fault.
func (r *reader) parse(src *source, data []byte) *form.Node {
	if len(data) > maxSourceBytes {
		r.add(place{src: src}, "the file is above %d MiB: split it, or put large values into .json files and name these under data", maxSourceBytes>>20)
		return nil
	}
	root, err := parse(src, data)
	if err != nil {
		r.faults = append(r.faults, err)
	}
	return root
}

// first notes where something is written, and reports whether it was not before.
func (r *reader) first(what string, e entry) bool {
	if before, twice := r.cfg.entries[what]; twice {
		r.add(e.place(), "%s stands twice, first at %s: keep one", what, before.place())
		return false
	}
	r.cfg.entries[what] = e
	return true
}

// finish fills in what was not written.
func (r *reader) finish(folder string) (*Config, error) {
	if len(r.faults) > 0 {
		return nil, joinFaults(r.faults)
	}
	c := r.cfg
	for name, m := range c.Models {
		m.Settings = wrap.Locate(m.Settings, c.Dir)
		c.Models[name] = m
	}
	for i := range c.MCP {
		c.MCP[i].Dir = c.Dir
	}
	if folder == "." || folder == string(filepath.Separator) {
		folder = ""
	}
	c.Name, c.User, c.Store = cmp.Or(c.Name, folder, "usher"), cmp.Or(c.User, "owner"), cmp.Or(c.Store, defaultStore)
	return c, nil
}
