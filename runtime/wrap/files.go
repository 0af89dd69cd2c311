package wrap

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// Located returns a model's settings with the files that they name relative to
// dir: record and replay, and file:PATH of a key or a header. It is a copy
// where anything changes.
func Located(settings map[string]any, dir string) map[string]any {
	if dir == "" {
		return settings
	}
	out := maps.Clone(settings)
	within := func(v any, prefix string) any {
		text, ok := v.(string)
		name, found := strings.CutPrefix(text, prefix)
		if !ok || !found || name == "" || filepath.IsAbs(name) {
			return v
		}
		return prefix + filepath.Join(dir, name)
	}
	for _, setting := range []struct{ name, prefix string }{
		{settingRecord, ""}, {settingReplay, ""}, {settingKey, inFile},
	} {
		if v, ok := out[setting.name]; ok {
			out[setting.name] = within(v, setting.prefix)
		}
	}
	if headers, ok := out[settingHeaders].(map[string]any); ok {
		headers = maps.Clone(headers)
		for name, v := range headers {
			headers[name] = within(v, inFile)
		}
		out[settingHeaders] = headers
	}
	return out
}

// appendingFile is opened for each write: a model has no end at which it
// could be closed, and a program that asks nothing must leave no file.
type appendingFile string

func (name appendingFile) Write(p []byte) (int, error) {
	f, err := os.OpenFile(string(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	n, err := f.Write(p)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return n, err
}
