package caps

// NeedHeld returns the requirement that the caller itself holds c: what a call
// that hands c on requires, so that authority only narrows (COG-13,
// "Attenuation Rule").
func NeedHeld(c Capability) Request {
	r := NeedOn(c.Can(), c.Resource())
	r.held = true
	return r
}

// HandsOn reports whether the request is one of [NeedHeld]: nothing is done on
// the resource, the capability is only handed on.
func (r Request) HandsOn() bool { return r.held }
