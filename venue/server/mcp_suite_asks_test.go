package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"usher/tools"
	"usher/tools/content"
	"usher/tools/dialog"
)

// form1 asks a person for one text.
func form1(name, message, field string) *dialog.Needs {
	return &dialog.Needs{Questions: map[string]dialog.Question{name: form(message, fmt.Sprintf(`{%q:{"type":"string"}}`, field), field)}}
}

// form asks a person to fill a form of the properties.
func form(message, properties string, required ...string) dialog.Question {
	schema := map[string]any{"type": "object", "properties": json.RawMessage(properties)}
	if len(required) > 0 {
		schema["required"] = required
	}
	params, err := json.Marshal(map[string]any{"mode": "form", "message": message, "requestedSchema": schema})
	if err != nil {
		panic(err)
	}
	return dialog.Question{Kind: dialog.Elicitation, Params: params}
}

func sampling(prompt string) dialog.Question {
	params, err := json.Marshal(map[string]any{"maxTokens": 100, "messages": []any{map[string]any{"role": "user", "content": content.Text(prompt)}}})
	if err != nil {
		panic(err)
	}
	return dialog.Question{Kind: dialog.Sampling, Params: params}
}

var roots = dialog.Question{Kind: dialog.Roots, Params: json.RawMessage("{}")}

// dialogue is a tool that asks: next returns what it asks, or what it says at the end.
func dialogue(name string, next func(line *dialog.Line, in json.RawMessage) (said string, asks *dialog.Needs)) *tools.Operation {
	return tool(name, anything, func(ctx context.Context, call tools.Call, in json.RawMessage) (any, error) {
		said, asks := next(dialog.Of(ctx, call), in)
		if asks != nil {
			return nil, asks
		}
		return content.Of(content.Text(said)), nil
	})
}

// suiteAsking is a tool that asks one thing, and says what was answered.
func suiteAsking(name, key string, ask func(in json.RawMessage) dialog.Question, say func(raw json.RawMessage) string) *tools.Operation {
	return dialogue(name, func(line *dialog.Line, in json.RawMessage) (string, *dialog.Needs) {
		if raw, ok := line.Answers[key]; ok {
			return say(raw), nil
		}
		return "", &dialog.Needs{Questions: map[string]dialog.Question{key: ask(in)}}
	})
}

func field(in json.RawMessage, name string) string {
	var fields map[string]any
	if json.Unmarshal(in, &fields) != nil {
		return ""
	}
	s, _ := fields[name].(string)
	return s
}

// sampled is the text that the caller's model answered.
func sampled(raw json.RawMessage) string {
	var said struct {
		Content struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if json.Unmarshal(raw, &said) != nil {
		return ""
	}
	return said.Content.Text
}

// elicited says what a person did with a form.
func elicited(raw json.RawMessage) string {
	var said struct {
		Action  string          `json:"action"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(raw, &said); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("action=%s, content=%s", said.Action, said.Content)
}

const defaults = `{"name":{"type":"string","description":"User name","default":"John Doe"},"age":{"type":"integer","description":"User age","default":30},
	"score":{"type":"number","description":"User score","default":95.5},"status":{"type":"string","description":"User status","enum":["active","inactive","pending"],"default":"active"},
	"verified":{"type":"boolean","description":"Verification status","default":true}}`

const enums = `{"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
	"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
	"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
	"untitledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"type":"string","enum":["option1","option2","option3"]}},
	"titledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}}`

func questioning() []*tools.Operation {
	name := func(json.RawMessage) dialog.Question {
		return form("What is your name?", `{"name":{"type":"string"}}`, "name")
	}
	filled := func(raw json.RawMessage) string { return "Elicitation completed: " + elicited(raw) }
	return []*tools.Operation{
		suiteAsking("test_sampling", "sample", func(in json.RawMessage) dialog.Question { return sampling(field(in, "prompt")) },
			func(raw json.RawMessage) string { return "LLM response: " + sampled(raw) }),
		suiteAsking("test_missing_capability", "sample", func(json.RawMessage) dialog.Question { return sampling("Hello") }, sampled),
		suiteAsking("test_elicitation", "form", func(in json.RawMessage) dialog.Question {
			return form(field(in, "message"), `{"username":{"type":"string","description":"User's response"},"email":{"type":"string","description":"User's email address"}}`, "username", "email")
		}, func(raw json.RawMessage) string { return "User response: " + elicited(raw) }),
		suiteAsking("test_elicitation_sep1034_defaults", "form", func(json.RawMessage) dialog.Question { return form("Please review the defaults", defaults) }, filled),
		suiteAsking("test_elicitation_sep1330_enums", "form", func(json.RawMessage) dialog.Question { return form("Please choose", enums) }, filled),
		dialogue("test_input_required_result_elicitation", func(line *dialog.Line, in json.RawMessage) (string, *dialog.Needs) {
			if f, ok := line.Form("user_name"); ok {
				return fmt.Sprintf("Hello, %v!", f["name"]), nil
			}
			return "", &dialog.Needs{Questions: map[string]dialog.Question{"user_name": name(in)}}
		}),
		suiteAsking("test_input_required_result_sampling", "capital_question", func(json.RawMessage) dialog.Question { return sampling("What is the capital of France?") }, sampled),
		suiteAsking("test_input_required_result_list_roots", "client_roots", func(json.RawMessage) dialog.Question { return roots },
			func(raw json.RawMessage) string { return "Roots: " + string(raw) }),
		stateful("test_input_required_result_request_state"),
		stateful("test_input_required_result_tampered_state"),
		dialogue("test_input_required_result_multiple_inputs", func(line *dialog.Line, in json.RawMessage) (string, *dialog.Needs) {
			if f, ok := line.Form("user_name"); ok && line.Answers["greeting"] != nil && line.Answers["client_roots"] != nil {
				return fmt.Sprintf("%s %v", sampled(line.Answers["greeting"]), f["name"]), nil
			}
			return "", &dialog.Needs{State: "multiple", Questions: map[string]dialog.Question{"user_name": name(in), "greeting": sampling("Generate a greeting"), "client_roots": roots}}
		}),
		dialogue("test_input_required_result_multi_round", func(line *dialog.Line, _ json.RawMessage) (string, *dialog.Needs) {
			who, second := strings.CutPrefix(line.State, "named:")
			if second {
				if f, ok := line.Form("step2"); ok {
					return fmt.Sprintf("%s likes %v", who, f["color"]), nil
				}
			}
			if f, ok := line.Form("step1"); ok && line.State == "first" {
				asks := form1("step2", "Step 2: What is your favorite color?", "color")
				asks.State = fmt.Sprintf("named:%v", f["name"])
				return "", asks
			}
			asks := form1("step1", "Step 1: What is your name?", "name")
			asks.State = "first"
			return "", asks
		}),
		dialogue("test_input_required_result_capabilities", func(line *dialog.Line, in json.RawMessage) (string, *dialog.Needs) {
			if len(line.Answers) > 0 {
				return "answered", nil
			}
			list := map[string]dialog.Question{}
			for key, q := range map[string]dialog.Question{"user_name": name(in), "greeting": sampling("Generate a greeting"), "client_roots": roots} {
				if line.Takes(q.Kind) {
					list[key] = q
				}
			}
			if len(list) == 0 {
				return "nothing can be asked", nil
			}
			return "", &dialog.Needs{Questions: list}
		}),
	}
}

// stateful is a tool that asks, and wants its state back.
func stateful(name string) *tools.Operation {
	return dialogue(name, func(line *dialog.Line, _ json.RawMessage) (string, *dialog.Needs) {
		if _, ok := line.Form("confirm"); ok && line.State == "asked" {
			return "state-ok", nil
		}
		return "", &dialog.Needs{State: "asked", Questions: map[string]dialog.Question{"confirm": form("Please confirm", `{"ok":{"type":"boolean"}}`, "ok")}}
	})
}
