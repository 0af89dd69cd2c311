package runtime

// Messages is the conversation so far.
func (s *Session) Messages() []Message {
	said, _ := s.said()
	return said
}
