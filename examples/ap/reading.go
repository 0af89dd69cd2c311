package ap

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// maxInvoice bounds the text of an invoice, in bytes.
const maxInvoice = 64 << 10

// readText reads the text of one invoice.
func readText(in io.Reader) (string, error) {
	raw, err := io.ReadAll(io.LimitReader(in, maxInvoice+1))
	text := string(raw)
	switch {
	case err != nil:
		return "", err
	case strings.TrimSpace(text) == "":
		return "", errors.New("it is empty: give the text of one invoice")
	case len(raw) > maxInvoice:
		return "", fmt.Errorf("it has more than %d bytes: give the text of one invoice", maxInvoice)
	case strings.HasPrefix(text, "%PDF-"), strings.ContainsRune(text, 0), !utf8.ValidString(text):
		return "", errors.New("it is not plain text: give the invoice as text in UTF-8")
	}
	return text, nil
}
