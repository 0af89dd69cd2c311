package runtime

// Messages is the conversation so far.
func (s *Session) Messages() []Message {
	said, _ := s.conversation()
	return said
}

// Kept is what the conversation must not lose.
func (s *Session) Kept() []MemoryItem { return s.memory.kept }
