package runtime

// Messages is the conversation so far.
func (s *Session) Messages() []Message { return s.said() }
