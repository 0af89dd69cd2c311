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
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return new(memory), err
	}
	total := 0
	for line := range bytes.Lines(raw) {
		var message string
		if total++; json.Unmarshal(line, &message) == nil { // a line that a crash cut is no loss
			m.messages = append(m.messages, message)
		}
	}
	m.forget()
	if total > 2*maxMessages {
		return m, m.rewrite()
	}
	return m, nil
}

// add keeps a message; one said twice in a row is kept once.
func (m *memory) add(message string) error {
	if len(message) > maxMessage || len(m.messages) > 0 && m.messages[len(m.messages)-1] == message {
		return nil
	}
	m.messages = append(m.messages, message)
	m.forget()
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

func (m *memory) forget() {
	m.messages = slices.Delete(m.messages, 0, max(0, len(m.messages)-maxMessages))
}

// rewrite makes the file as short as the memory.
func (m *memory) rewrite() error {
	var all []byte
	for _, message := range m.messages {
		line, err := json.Marshal(message)
		if err != nil {
			return err
		}
		all = append(append(all, line...), '\n')
	}
	next := m.file + ".new"
	if err := os.WriteFile(next, all, 0o600); err != nil {
		return err
	}
	return os.Rename(next, m.file)
}

// Add keeps nothing: the editor calls it for each line, before one knows
// whether the message goes on in the next.
func (m *memory) Add(string) {}

// Len is how many messages there are.
func (m *memory) Len() int { return len(m.messages) }

// At returns a message for the editor; 0 is the newest.
func (m *memory) At(i int) string { return oneLine(m.messages[len(m.messages)-1-i]) }
