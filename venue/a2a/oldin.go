package a2a

import (
	"encoding/json"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// oldSend are the parameters of message/send and message/stream of 0.3.
type oldSend struct {
	Config *struct {
		a2a.SendMessageConfig
		Blocking *bool    `json:"blocking"`
		Push     *oldPush `json:"pushNotificationConfig"`
	} `json:"configuration"`
	Message *struct {
		a2a.Message
		Role  string    `json:"role"`
		Parts []oldPart `json:"parts"`
	} `json:"message"`
	Metadata map[string]any `json:"metadata"`
	Tenant   string         `json:"tenant"`
}

// oldPart is a part of 0.3: kind says which.
type oldPart struct {
	Kind string          `json:"kind"`
	Text string          `json:"text"`
	Data json.RawMessage `json:"data"`
	File struct {
		Name  string `json:"name"`
		Type  string `json:"mimeType"`
		Bytes []byte `json:"bytes"`
		URI   string `json:"uri"`
	} `json:"file"`
}

// readMessage reads the parameters of a message, of either version.
func (c *call) readMessage() (*a2a.SendMessageRequest, error) {
	if c.version == modern {
		in := new(a2a.SendMessageRequest)
		if err := c.read(in); err != nil {
			return nil, err
		}
		return in, c.exact(in)
	}
	var old oldSend
	if err := c.read(&old); err != nil {
		return nil, err
	}
	in := &a2a.SendMessageRequest{Metadata: old.Metadata, Tenant: old.Tenant}
	if old.Config != nil {
		conf := old.Config.SendMessageConfig
		conf.ReturnImmediately, conf.PushConfig = old.Config.Blocking != nil && !*old.Config.Blocking, old.Config.Push.modern()
		in.Config = &conf
	}
	if old.Message == nil {
		return in, nil
	}
	msg := old.Message.Message
	msg.Role = a2a.MessageRole(old.Message.Role)
	if old.Message.Role == "user" {
		msg.Role = a2a.MessageRoleUser
	}
	msg.Parts = make(a2a.ContentParts, len(old.Message.Parts))
	for i, p := range old.Message.Parts {
		var err error
		if msg.Parts[i], err = p.modern(); err != nil {
			return nil, err
		}
	}
	in.Message = &msg
	return in, nil
}

// exact has the data of a message be as it came: the library has read its numbers as float64.
func (c *call) exact(in *a2a.SendMessageRequest) error {
	var came struct {
		Message struct {
			Parts []*struct {
				Data json.RawMessage `json:"data"`
			} `json:"parts"`
		} `json:"message"`
	}
	if err := json.Unmarshal(c.params, &came); err != nil {
		return errParams.because(err.Error())
	}
	for i, part := range came.Message.Parts {
		if part == nil || in.Message == nil || i >= len(in.Message.Parts) || in.Message.Parts[i] == nil {
			continue
		}
		if _, is := in.Message.Parts[i].Content.(a2a.Data); is {
			in.Message.Parts[i].Content = a2a.Data{Value: part.Data}
		}
	}
	return nil
}

func (p *oldPart) modern() (*a2a.Part, error) {
	switch p.Kind {
	case "text":
		return a2a.NewTextPart(p.Text), nil
	case "data":
		if len(p.Data) == 0 {
			return nil, errParams.because("a data part has no data")
		}
		return a2a.NewDataPart(p.Data), nil
	case "file":
		if p.File.URI != "" {
			return a2a.NewFileURLPart(a2a.URL(p.File.URI), p.File.Type), nil
		}
		return &a2a.Part{Content: a2a.Raw(p.File.Bytes), MediaType: p.File.Type, Filename: p.File.Name}, nil
	}
	return nil, errParams.because("a part is of no kind: text, data or file")
}
