package wrap

import (
	"maps"
	"os"
	"path/filepath"

	"usher/runtime/endpoint"
)

// Located returns a model's settings with the files that they name relative to
// dir: record and replay, and file:PATH of a key or a header. It is a copy
// where anything changes.
func Located(settings map[string]any, dir string) map[string]any {
	if dir == "" {
		return settings
	}
	out := maps.Clone(settings)
	for _, setting := range []string{settingRecord, settingReplay} {
		if name, ok := out[setting].(string); ok && name != "" && !filepath.IsAbs(name) {
			out[setting] = filepath.Join(dir, name)
		}
	}
	if ref, ok := out[endpoint.KeySetting]; ok {
		out[endpoint.KeySetting] = endpoint.Located(ref, dir)
	}
	if headers, ok := out[endpoint.HeadersSetting].(map[string]any); ok {
		headers = maps.Clone(headers)
		for name, v := range headers {
			headers[name] = endpoint.Located(v, dir)
		}
		out[endpoint.HeadersSetting] = headers
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
