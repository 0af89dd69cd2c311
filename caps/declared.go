package caps

// Declared is a caps value as a person or an agent wrote it. It tells apart what
// [Set] does not: absent (the zero value), null, and a list. What an absent value
// means is for the reader to decide.
//
// After a decoding error it is present and holds the empty set, so that code
// which overlooks the error denies.
type Declared struct {
	set     Set
	present bool
}

// Declare returns s as if it had been written; [Unrestricted] becomes null.
func Declare(s Set) Declared { return Declared{set: s, present: true} }

// Present reports whether anything was written, null included.
func (d Declared) Present() bool { return d.present }

// IsZero reports that nothing was written (for omitzero).
func (d Declared) IsZero() bool { return !d.present }

// IsNull reports whether null was written.
func (d Declared) IsNull() bool { return d.present && d.set.IsUnrestricted() }

// Set returns the list that was written; false where it is absent or null.
func (d Declared) Set() (Set, bool) {
	if !d.present || d.set.IsUnrestricted() {
		return Set{}, false
	}
	return d.set, true
}

// MarshalJSON writes the list, or null where it is null or absent. Tag a field
// omitzero to leave an absent one out.
func (d Declared) MarshalJSON() ([]byte, error) {
	if !d.present {
		return []byte("null"), nil
	}
	return d.set.MarshalJSON()
}

// UnmarshalJSON reads null or a list, as [ParseSet] does.
func (d *Declared) UnmarshalJSON(data []byte) error {
	*d = Declared{present: true}
	return d.set.UnmarshalJSON(data)
}
