package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/term"
)

// memory is what a person typed in chats, the newest last. It is kept in the
// venue's data folder, for its owner alone; a venue in memory keeps nothing.
type memory struct {
	messages []string
	file     string // a message a line, as JSON; empty keeps them while the chat lasts
}

var _ term.History = (*memory)(nil)

const (
	memoryFile  = "chat_history"
	maxMessages = 500      // that are found again
	maxMessage  = 64 << 10 // bytes of one that is worth it
)

// openMemory reads what is kept in the folder. With an error the memory is
// empty, and keeps nothing.
func openMemory(dir string) (*memory, error) {
	if dir == "" {
		return new(memory), nil
	}
	m := &memory{file: filepath.Join(dir, memoryFile)}
	raw, err := os.ReadFile(m.file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return new(memory), err
	}
	whole := raw[:bytes.LastIndexByte(raw, '\n')+1] // less a line that a crash cut
	lines := slices.Collect(bytes.Lines(whole))
	if extra := len(lines) - maxMessages; len(whole) < len(raw) || extra > maxMessages {
		lines = lines[max(extra, 0):]
		if err := replace(m.file, bytes.Join(lines, nil)); err != nil {
			return new(memory), err
		}
	}
	for _, line := range lines {
		var message string
		if json.Unmarshal(line, &message) == nil {
			m.keep(message)
		}
	}
	return m, nil
}

func replace(file string, content []byte) error {
	next := file + ".new"
	if err := os.WriteFile(next, content, 0o600); err != nil {
		return err
	}
	return os.Rename(next, file)
}

func (m *memory) keep(message string) {
	m.messages = append(m.messages, message)
	m.messages = slices.Delete(m.messages, 0, max(0, len(m.messages)-maxMessages))
}

// add keeps a message; one said twice in a row is kept once.
func (m *memory) add(message string) error {
	if len(message) > maxMessage || len(m.messages) > 0 && m.messages[len(m.messages)-1] == message {
		return nil
	}
	m.keep(message)
	if m.file == "" {
		return nil
	}
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(m.file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Chmod(0o600), f.Close())
}

// Add keeps nothing: the editor calls it for each line, before one knows
// whether the message goes on in the next.
func (m *memory) Add(string) {}

// Len is how many messages there are.
func (m *memory) Len() int { return len(m.messages) }

// At returns a message for the editor; 0 is the newest.
func (m *memory) At(i int) string { return oneLine(m.messages[len(m.messages)-1-i]) }
