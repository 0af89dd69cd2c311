package agui

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Event is an event as it came.
type Event map[string]any

func (e Event) Text(name string) string { s, _ := e[name].(string); return s }

// field says what a field of an event has to be, in a schema of @ag-ui/core 1.0.0.
type field struct {
	kind string // "string", "object", "list", "bool", "any": a value that is not null; "value": any
	must bool
}

var (
	must = func(kind string) field { return field{kind, true} }
	may  = func(kind string) field { return field{kind, false} }
)

// schemas are the fields of events beside type, metadata, timestamp and rawEvent. owned is
// of those that may be a subagent's.
var schemas = map[string]struct {
	owned  bool
	fields map[string]field
}{
	"RUN_STARTED":               {false, map[string]field{"threadId": must("string"), "runId": must("string"), "protocolVersion": may("string"), "parentRunId": may("string")}},
	"RUN_FINISHED":              {false, map[string]field{"threadId": must("string"), "runId": must("string"), "result": may("any"), "outcome": may("object"), "usage": may("list")}},
	"RUN_ERROR":                 {false, map[string]field{"message": must("string"), "code": may("string"), "usage": may("list")}},
	"STEP_STARTED":              {true, map[string]field{"stepName": must("string")}},
	"STEP_FINISHED":             {true, map[string]field{"stepName": must("string")}},
	"TEXT_MESSAGE_START":        {true, map[string]field{"messageId": must("string"), "role": may("string"), "name": may("string")}},
	"TEXT_MESSAGE_CONTENT":      {true, map[string]field{"messageId": must("string"), "delta": must("string")}},
	"TEXT_MESSAGE_END":          {true, map[string]field{"messageId": must("string")}},
	"TOOL_CALL_START":           {true, map[string]field{"toolCallId": must("string"), "toolCallName": must("string"), "parentMessageId": may("string")}},
	"TOOL_CALL_ARGS":            {true, map[string]field{"toolCallId": must("string"), "delta": must("string")}},
	"TOOL_CALL_END":             {true, map[string]field{"toolCallId": must("string")}},
	"TOOL_CALL_RESULT":          {true, map[string]field{"messageId": must("string"), "toolCallId": must("string"), "content": must("string"), "role": may("string")}},
	"STATE_SNAPSHOT":            {true, map[string]field{"snapshot": must("value")}},
	"STATE_DELTA":               {true, map[string]field{"delta": must("list")}},
	"MESSAGES_SNAPSHOT":         {false, map[string]field{"messages": must("list")}},
	"ACTIVITY_SNAPSHOT":         {true, map[string]field{"messageId": must("string"), "activityType": must("string"), "content": must("object"), "replace": may("bool")}},
	"CUSTOM":                    {true, map[string]field{"name": must("string"), "value": must("value")}},
	"REASONING_START":           {true, map[string]field{"messageId": must("string")}},
	"REASONING_MESSAGE_START":   {true, map[string]field{"messageId": must("string"), "role": must("string")}},
	"REASONING_MESSAGE_CONTENT": {true, map[string]field{"messageId": must("string"), "delta": must("string")}},
	"REASONING_MESSAGE_END":     {true, map[string]field{"messageId": must("string")}},
	"REASONING_END":             {true, map[string]field{"messageId": must("string")}},
	"SUBAGENT_STARTED":          {true, map[string]field{"name": must("string"), "description": may("string"), "parentSubagentRunId": may("string"), "parentToolCallId": may("string"), "parentMessageId": may("string")}},
	"SUBAGENT_FINISHED":         {true, map[string]field{"result": may("any"), "outcome": may("object")}},
	"SUBAGENT_ERROR":            {true, map[string]field{"message": must("string"), "code": may("string")}},
}

func (f field) fits(v any, there bool) bool {
	if !there {
		return !f.must
	}
	switch f.kind {
	case "string":
		_, ok := v.(string)
		return ok
	case "object":
		_, ok := v.(map[string]any)
		return ok
	case "list":
		_, ok := v.([]any)
		return ok
	case "bool":
		_, ok := v.(bool)
		return ok
	case "any":
		return v != nil
	}
	return true
}

// fits says why an event is none of the schemas.
func fits(e Event) error {
	s, known := schemas[e.Text("type")]
	if !known {
		return fmt.Errorf("there is no event %v", e["type"])
	}
	for name, v := range e {
		_, is := s.fields[name]
		_, object := v.(map[string]any)
		switch {
		case is, name == "type":
		case name == "metadata" && object:
		case name == "subagentRunId" && s.owned && e.Text(name) != "":
		default:
			return fmt.Errorf("%s has %s: %v", e["type"], name, v)
		}
	}
	for name, f := range s.fields {
		if v, there := e[name]; !f.fits(v, there) {
			return fmt.Errorf("%s has as %s: %v", e["type"], name, v)
		}
	}
	if o, ok := e["outcome"].(map[string]any); ok {
		for name, v := range o {
			if v == nil {
				return fmt.Errorf("outcome has a null %s", name)
			}
		}
	}
	return nil
}

// Verify says why a client refuses a stream: the rules of verifyEvents of @ag-ui/client
// 1.0.0, and that a stream ends with its run.
func Verify(stream []Event) error {
	if len(stream) == 0 || stream[0].Text("type") != "RUN_STARTED" {
		return errors.New("the first event is not RUN_STARTED")
	}
	open := make(map[string]string) // what is open, by its kind and id, with its owner
	owners := make(map[string]string)
	subagents := make(map[string]bool) // whether they are active
	over := false
	for n, e := range stream {
		kind, owner := e.Text("type"), e.Text("subagentRunId")
		wrong := func(why string) error { return fmt.Errorf("event %d, %s: %s: %v", n, kind, why, map[string]any(e)) }
		if err := fits(e); err != nil {
			return wrong(err.Error())
		}
		if over {
			return wrong("the run is over")
		}
		opens := func(what, id string) error {
			at := what + " " + id
			if _, is := open[at]; is {
				return wrong(at + " is open")
			}
			if of, known := owners[at]; known && of != owner {
				return wrong(at + " is of " + of)
			}
			open[at], owners[at] = owner, owner
			return nil
		}
		goesOn := func(what, id string, ends bool) error {
			at := what + " " + id
			of, is := open[at]
			if !is || of != owner {
				return wrong(at + " is not open")
			}
			if ends {
				delete(open, at)
			}
			return nil
		}
		var err error
		switch kind {
		case "RUN_STARTED":
			if n > 0 {
				err = wrong("a run is active")
			}
		case "TEXT_MESSAGE_START":
			err = opens("message", e.Text("messageId"))
		case "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END":
			err = goesOn("message", e.Text("messageId"), kind == "TEXT_MESSAGE_END")
		case "REASONING_START":
			err = opens("thoughts", e.Text("messageId"))
		case "REASONING_END":
			err = goesOn("thoughts", e.Text("messageId"), true)
		case "REASONING_MESSAGE_START":
			err = opens("thought", e.Text("messageId"))
		case "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END":
			err = goesOn("thought", e.Text("messageId"), kind == "REASONING_MESSAGE_END")
		case "TOOL_CALL_START":
			if of, known := owners["message "+e.Text("parentMessageId")]; known && of != owner {
				err = wrong("its message is of " + of)
			}
			if err == nil {
				err = opens("call", e.Text("toolCallId"))
			}
		case "TOOL_CALL_ARGS", "TOOL_CALL_END":
			err = goesOn("call", e.Text("toolCallId"), kind == "TOOL_CALL_END")
		case "STEP_STARTED":
			err = opens("step of "+owner, e.Text("stepName"))
		case "STEP_FINISHED":
			err = goesOn("step of "+owner, e.Text("stepName"), true)
		case "SUBAGENT_STARTED":
			if _, known := subagents[owner]; known || owner == "" {
				return wrong("its id is not new")
			}
			if up := e.Text("parentSubagentRunId"); up != "" {
				if _, known := subagents[up]; !known {
					return wrong("its parent has not started")
				}
			}
			subagents[owner] = true
		case "SUBAGENT_FINISHED", "SUBAGENT_ERROR":
			if !subagents[owner] {
				return wrong("it is not active")
			}
			subagents[owner] = false
		case "RUN_FINISHED", "RUN_ERROR":
			for at := range open {
				return wrong(at + " is open")
			}
			for id, active := range subagents {
				if active {
					return wrong(id + " is active")
				}
			}
			over = true
		}
		if err == nil && owner != "" && kind != "SUBAGENT_STARTED" && !strings.HasPrefix(kind, "SUBAGENT_") && !subagents[owner] {
			err = wrong("its subagent is not active")
		}
		if err != nil {
			return err
		}
	}
	if !over {
		return errors.New("the stream ends before its run")
	}
	return nil
}

// Streamed reads the events of a stream. Frames end in two line feeds.
func Streamed(raw string) (list []Event, err error) {
	for frame := range strings.SplitSeq(raw, "\n\n") {
		if frame == "" || strings.HasPrefix(frame, ":") {
			continue
		}
		data, ok := strings.CutPrefix(frame, "data: ")
		var e Event
		if err := json.Unmarshal([]byte(data), &e); err != nil || !ok {
			return nil, fmt.Errorf("frame %q: %w", frame, err)
		}
		list = append(list, e)
	}
	return list, nil
}
