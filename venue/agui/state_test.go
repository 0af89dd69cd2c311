package agui

import (
	"encoding/json"
	"testing"

	"usher/caps/value"
)

func TestPatch(t *testing.T) {
	for name, tt := range map[string]struct{ from, to, want string }{
		"the same":   {`{"a":{"b":[1]}}`, `{"a":{"b":[1]}}`, `null`},
		"another":    {`{"a":{"b":[1]}}`, `{"a":{"b":[2]}}`, `[{"op":"replace","path":"/a/b","value":[2]}]`},
		"more":       {`{"a":{}}`, `{"a":{"x/y~":null}}`, `[{"op":"add","path":"/a/x~1y~0","value":null}]`},
		"less":       {`{"a":1,"b":2}`, `{"b":2}`, `[{"op":"remove","path":"/a"}]`},
		"no object":  {`{"a":{"b":1}}`, `{"a":3}`, `[{"op":"replace","path":"/a","value":3}]`},
		"an object":  {`{"a":3}`, `{"a":{"b":1}}`, `[{"op":"replace","path":"/a","value":{"b":1}}]`},
		"a new null": {`{"a":3}`, `{"a":null}`, `[{"op":"replace","path":"/a","value":null}]`},
	} {
		t.Run(name, func(t *testing.T) {
			from, err := value.Object([]byte(tt.from), 8)
			if err != nil {
				t.Fatal(err)
			}
			to, err := value.Object([]byte(tt.to), 8)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(patch(from, to, ""))
			if err != nil || string(got) != tt.want {
				t.Errorf("patch(%s, %s) = %s, %v, want %s", tt.from, tt.to, got, err, tt.want)
			}
		})
	}
}
