package venue

import (
	"encoding/json"
	"slices"
)

// redacted stands in a record for what may hold a secret.
var redacted = json.RawMessage(`"[redacted]"`)

const redactedError = "[redacted]: the job ran a sealed operation, whose input or output the error may quote"

// sealed reports whether the record may keep neither input nor output. It can
// become so while the job runs: at the latest before a sealed operation does.
func (j *job) sealed() bool { return j.under || j.auth.Sealed() }

// shown is the record as anybody may see it, the disk included. The caller
// holds the lock.
func (j *job) shown() Job {
	switch {
	case j.sealed():
		return j.rec.redact(true)
	case j.auth.Unclear():
		return j.rec.redact(false)
	}
	return j.rec
}

// redact takes out of the record what went in, and with all what came out, too.
func (j Job) redact(all bool) Job {
	j.Sealed = true
	j.Input = over(j.Input)
	j.Steps = slices.Clone(j.Steps)
	for i := range j.Steps {
		s := &j.Steps[i]
		s.Input = over(s.Input)
		if all {
			s.Output, s.Error = over(s.Output), overError(s.Error)
		}
	}
	if all {
		j.Output, j.Error = over(j.Output), overError(j.Error)
	}
	return j
}

func over(value json.RawMessage) json.RawMessage {
	if value == nil {
		return nil
	}
	return redacted
}

func overError(text string) string {
	if text == "" {
		return ""
	}
	return redactedError
}
