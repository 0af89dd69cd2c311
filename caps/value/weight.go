package value

// MaxRatio is the most that [Weight] is of valid JSON, in lengths of the text.
const MaxRatio = 120

// Weight estimates the memory that the value of a JSON text takes when it is
// decoded, in bytes. It can be a large multiple of the text: whoever keeps values
// that others send counts this.
func Weight(text []byte) int64 {
	// What each takes beside its own characters, as maps, slices and boxed texts
	// are laid out; an object has room for eight entries from the first on.
	const object, empty, array, item, entry, scalar = 384, 48, 48, 32, 32, 24
	weight, next := int64(len(text)), true // a scalar may begin here
	for i := 0; i < len(text); i++ {
		begins := next
		next = false
		switch c := text[i]; c {
		case ' ', '\t', '\n', '\r':
			next = begins
		case '{':
			if weight, next = weight+object, true; i+1 < len(text) && text[i+1] == '}' {
				weight += empty - object
			}
		case '[':
			weight, next = weight+array, true
		case ',':
			weight, next = weight+item, true
		case ':':
			weight, next = weight+entry, true
		case '"':
			weight += scalar
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		default:
			if begins {
				weight += scalar
			}
		}
	}
	return weight
}
