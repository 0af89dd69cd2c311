package ap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// maxInvoice bounds the text of an invoice, in bytes.
const maxInvoice = 64 << 10

var (
	errEmpty  = errors.New("it is empty: give the text of one invoice")
	errNoText = errors.New("it is not plain text: give the text of the invoice, for example what pdftotext prints")
)

// readText reads the text of an invoice as programs save it: in UTF-8, in
// UTF-16 with its mark, or in the encoding of Windows.
func readText(in io.Reader) (string, error) {
	raw, err := io.ReadAll(io.LimitReader(in, maxInvoice+1))
	switch {
	case err != nil:
		return "", err
	case len(bytes.TrimSpace(raw)) == 0:
		return "", errEmpty
	case len(raw) > maxInvoice:
		return "", fmt.Errorf("it has more than %d bytes: give the text of one invoice", maxInvoice)
	case bytes.HasPrefix(raw, []byte{0xff, 0xfe}):
		return wide(raw[2:], binary.LittleEndian), nil
	case bytes.HasPrefix(raw, []byte{0xfe, 0xff}):
		return wide(raw[2:], binary.BigEndian), nil
	case bytes.HasPrefix(raw, []byte("%PDF-")), bytes.IndexByte(raw, 0) >= 0:
		return "", errNoText
	case !utf8.Valid(raw):
		return charmap.Windows1252.NewDecoder().String(string(raw))
	}
	return string(raw), nil
}

func wide(raw []byte, order binary.ByteOrder) string {
	units := make([]uint16, len(raw)/2)
	for i := range units {
		units[i] = order.Uint16(raw[2*i:])
	}
	return string(utf16.Decode(units))
}
