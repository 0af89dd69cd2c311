package cli

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/term"
)

// memory is what a person typed in chats, the newest last. It is kept in the
// venue's data folder, for its owner alone; a venue in memory keeps nothing.
type memory struct {
	lock     sync.Locker // held while the file is read and written
	messages []string
	file     string // a list, as JSON; empty keeps them while the chat lasts
}

var _ term.History = (*memory)(nil)

const (
	memoryFile  = "chat_history"
	maxMessages = 500      // that are found again
	maxMessage  = 64 << 10 // bytes of one that is worth it
)

// openMemory reads what is kept in the folder. With an error the memory is
// empty, and keeps nothing.
func openMemory(dir string, lock sync.Locker) (*memory, error) {
	m := &memory{lock: lock}
	if dir == "" {
		return m, nil
	}
	m.file = filepath.Join(dir, memoryFile)
	if err := m.read(); err != nil {
		return &memory{lock: lock}, err
	}
	return m, nil
}

// read takes what is kept in the file.
func (m *memory) read() error {
	raw, err := os.ReadFile(m.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var messages []string
	if err := json.Unmarshal(raw, &messages); err != nil {
		return err
	}
	m.messages = messages
	return nil
}

// add keeps a message; one said twice in a row is kept once.
func (m *memory) add(message string) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.file != "" { // another chat may have added to it
		if err := m.read(); err != nil {
			return err
		}
	}
	if len(message) > maxMessage || len(m.messages) > 0 && m.messages[len(m.messages)-1] == message {
		return nil
	}
	m.messages = append(m.messages, message)
	m.messages = slices.Delete(m.messages, 0, max(0, len(m.messages)-maxMessages))
	if m.file == "" {
		return nil
	}
	raw, err := json.Marshal(m.messages)
	if err != nil {
		return err
	}
	next := m.file + ".new" // a crash cuts this one, and leaves the other
	return errors.Join(os.WriteFile(next, raw, 0o600), os.Rename(next, m.file))
}

// Add keeps nothing: the editor calls it for each line, before one knows
// whether the message goes on in the next.
func (m *memory) Add(string) {}

// Len is how many messages there are.
func (m *memory) Len() int { return len(m.messages) }

// At returns a message for the editor; 0 is the newest.
func (m *memory) At(i int) string { return oneLine(m.messages[len(m.messages)-1-i]) }
