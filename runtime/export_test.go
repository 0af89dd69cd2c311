package runtime

// Messages is the conversation so far.
func (s *Session) Messages() []Message {
	said, _ := s.said()
	return said
}

// Kept is what the conversation must not lose.
func (s *Session) Kept() []Kept { return s.memory.kept }
