package caps

// isPlain reports whether text is a canonical path as nearly all are: ASCII, of
// a namespace of one's own, without a colon, a percent sign, or a segment that
// begins with a dot. It is one pass over the bytes; what is not plain goes
// through [checkText] and [checkPath], which say the same of plain text.
func isPlain(text string) bool {
	if len(text) > maxResourceBytes {
		return false
	}
	bad, refused := byte(0), slash|dot|special // as after a slash
	for i := range len(text) {
		class := plainClasses[text[i]]
		bad |= class & refused
		refused = class >> refusedShift
	}
	return bad == 0 && refused&slash == 0
}

// The class of a byte in its low bits, and above them the classes that are
// refused in the byte that follows.
const (
	slash byte = 1 << iota
	dot
	special // refused wherever it stands

	refusedShift = 4
)

var plainClasses = func() (classes [256]byte) {
	for c := range classes {
		classes[c] = special << refusedShift
		if c < ' ' || c >= 0x7f {
			classes[c] |= special
		}
	}
	for _, c := range []byte(`\*?#%:`) {
		classes[c] |= special
	}
	classes['.'] |= dot
	classes['/'] = slash | (slash|dot|special)<<refusedShift
	return classes
}()
