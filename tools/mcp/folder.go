package mcp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"usher/caps/value"
)

// folder is the root of a server: a local folder that it works in.
type folder struct {
	given string // absolute and clean, as it was written
	real  string // without links

	lstat func(path string) (fs.FileInfo, error) // that of the system
}

// openFolder finds the folder. It has to be there.
func openFolder(dir string) (*folder, error) {
	given, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(given)
	if err != nil {
		return nil, fmt.Errorf("root: %w", err)
	}
	if at, err := os.Stat(real); err != nil || !at.IsDir() {
		return nil, fmt.Errorf("root %s is no folder", dir)
	}
	return &folder{given, real, os.Lstat}, nil
}

// spot is where a path of an input leads.
type spot struct {
	path  string // absolute, without links: what is sent
	asked string // below the root, as it was asked for; empty is the root itself
	found string // below the root, once links are followed
	why   string // that nobody may go there: links lead out of the root, or nobody can tell
}

// pieces are what the spot stands for in a resource. What was asked for comes first: who
// may not have that is told nothing of where its links lead.
func (s spot) pieces() []piece {
	asked := piece{text: s.asked}
	switch {
	case s.why != "":
		return []piece{asked, {s.asked, s.why}}
	case s.found != s.asked:
		return []piece{asked, {text: s.found}}
	}
	return []piece{asked}
}

// find follows a path, absolute or below the root, to where its links lead, also of a
// file that is not there yet. A path that is outside by its text is an error.
func (f *folder) find(text string) (s spot, err error) {
	if text == "" || len(text) > maxPath || strings.ContainsRune(text, 0) {
		return s, fmt.Errorf("%s is no path", value.Quote(text))
	}
	path := filepath.Clean(text)
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.real, path)
	}
	rel, inside := below(f.given, path)
	if !inside {
		rel, inside = below(f.real, path)
	}
	if !inside {
		return s, fmt.Errorf("%s is not below the folder of the server: give a path below it", value.Quote(text))
	}
	s.asked = filepath.ToSlash(rel)
	found, err := f.follow(rel)
	if err != nil {
		s.why, s.path = "Its links lead out of the folder of the server, or nobody can follow them.", filepath.Join(f.real, rel)
		return s, nil //nolint:nilerr // what exactly is for no one to know who may not go there
	}
	s.found, s.path = filepath.ToSlash(found), filepath.Join(f.real, found)
	return s, nil
}

// below returns path as it is seen from dir; both are absolute and clean. ok is false
// where it is not inside.
func below(dir, path string) (rel string, ok bool) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", false
	}
	if rel == "." {
		rel = ""
	}
	return rel, true
}

// maxPath bounds a path, in bytes, as systems do.
const maxPath = 4096

// maxLinks bounds how many links one path goes through, as systems do.
const maxLinks = 40

var errAstray = errors.New("its links lead astray")

// follow resolves the links of a path below the root. What is not there yet is taken as
// it is written.
func (f *folder) follow(rel string) (string, error) {
	var at []string // resolved, below the root
	rest := segments(rel)
	for links := 0; len(rest) > 0; {
		next := rest[0]
		rest = rest[1:]
		if next == ".." { // of a link alone
			if len(at) == 0 {
				return "", errAstray
			}
			at = at[:len(at)-1]
			continue
		}
		at = append(at, next)
		path := filepath.Join(append([]string{f.real}, at...)...)
		info, err := f.lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if slices.Contains(rest, "..") {
				return "", errAstray
			}
			return filepath.Join(append(at, rest...)...), nil
		case err != nil:
			return "", err
		}
		if at[len(at)-1], err = f.nameOf(path, info); err != nil {
			return "", err
		}
		path = filepath.Join(filepath.Dir(path), at[len(at)-1])
		if info.Mode()&fs.ModeSymlink == 0 {
			if info.Mode()&fs.ModeIrregular != 0 { // on Windows, other ways to lead elsewhere
				return "", errAstray
			}
			continue
		}
		if links++; links > maxLinks {
			return "", errAstray
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		at = at[:len(at)-1]
		if filepath.IsAbs(to) {
			inside, ok := below(f.real, filepath.Clean(to))
			if !ok {
				inside, ok = below(f.given, filepath.Clean(to))
			}
			if !ok {
				return "", errAstray
			}
			at, to = nil, inside
		}
		rest = append(segments(to), rest...)
	}
	return filepath.Join(at...), nil
}

// nameOf is the name that the disk has for what a path leads to. Where case does not count, or
// names have short forms, it may be another than was written.
func (f *folder) nameOf(path string, info fs.FileInfo) (string, error) {
	dir, name := filepath.Split(path)
	exact := true
	for _, other := range []string{strings.ToUpper(name), strings.ToLower(name)} {
		if other == name {
			continue
		}
		if at, err := f.lstat(dir + other); err == nil && os.SameFile(at, info) {
			exact = false
		}
	}
	if exact {
		return name, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	var same, folded []string
	for _, e := range entries {
		if e.Name() == name {
			return name, nil
		}
		if at, err := e.Info(); err == nil && os.SameFile(at, info) {
			same = append(same, e.Name())
			if strings.EqualFold(e.Name(), name) {
				folded = append(folded, e.Name())
			}
		}
	}
	for _, names := range [][]string{folded, same} { // a file may have other names, as links
		if len(names) == 1 {
			return names[0], nil
		}
	}
	return "", errAstray
}

// segments are those of a path, without empty ones and ".".
func segments(path string) (list []string) {
	for s := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if s != "" && s != "." {
			list = append(list, s)
		}
	}
	return list
}
