package cli_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	spanpb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"usher/venue/cli"
)

// collector takes OTLP over HTTP, and keeps what it is sent.
type collector struct {
	mu       sync.Mutex // guards what follows
	spans    []*spanpb.Span
	resource map[string]string
	metrics  []string
	raw      bytes.Buffer
	server   *httptest.Server
}

func collect(t *testing.T) *collector {
	t.Helper()
	c := &collector{resource: map[string]string{}}
	t.Cleanup(func() { goleak.VerifyNone(t) })
	c.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.raw.Write(raw)
		switch r.URL.Path {
		case "/v1/traces":
			err = c.takeSpans(raw)
		case "/v1/metrics":
			err = c.takeMetrics(raw)
		default:
			err = fmt.Errorf("nothing is at %s", r.URL.Path)
		}
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(c.server.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "60000") // on a machine that has other work
	return c
}

func (c *collector) takeSpans(raw []byte) error {
	var in tracepb.ExportTraceServiceRequest
	if err := proto.Unmarshal(raw, &in); err != nil {
		return err
	}
	for _, of := range in.GetResourceSpans() {
		for _, kv := range of.GetResource().GetAttributes() {
			c.resource[kv.GetKey()] = kv.GetValue().GetStringValue()
		}
		for _, scope := range of.GetScopeSpans() {
			c.spans = append(c.spans, scope.GetSpans()...)
		}
	}
	return nil
}

func (c *collector) takeMetrics(raw []byte) error {
	var in metricspb.ExportMetricsServiceRequest
	if err := proto.Unmarshal(raw, &in); err != nil {
		return err
	}
	for _, of := range in.GetResourceMetrics() {
		for _, scope := range of.GetScopeMetrics() {
			for _, m := range scope.GetMetrics() {
				c.metrics = append(c.metrics, m.GetName())
			}
		}
	}
	slices.Sort(c.metrics)
	return nil
}

// turn draws the spans of the one turn, in the order of their start, and for
// decisions what they came to.
func (c *collector) turn() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.SortStableFunc(c.spans, func(a, b *spanpb.Span) int {
		return cmp.Compare(a.GetStartTimeUnixNano(), b.GetStartTimeUnixNano())
	})
	var b strings.Builder
	var draw func(s *spanpb.Span, indent string)
	draw = func(s *spanpb.Span, indent string) {
		b.WriteString(indent + s.GetName())
		if verdict := field(s, "usher.verdict").GetStringValue(); verdict != "" {
			fmt.Fprintf(&b, " (%s: %s on %s, %s)", verdict, only(s, "ability"), only(s, "resource"), only(s, "capability"))
		}
		b.WriteString("\n")
		for _, child := range c.spans {
			if bytes.Equal(child.GetParentSpanId(), s.GetSpanId()) {
				draw(child, indent+"  ")
			}
		}
	}
	for _, s := range c.spans {
		if strings.HasPrefix(s.GetName(), "invoke_agent") && len(s.GetParentSpanId()) == 0 {
			draw(s, "")
		}
	}
	return b.String()
}

func field(s *spanpb.Span, key string) *common.AnyValue {
	for _, kv := range s.GetAttributes() {
		if kv.GetKey() == key {
			return kv.GetValue()
		}
	}
	return nil
}

func only(s *spanpb.Span, of string) string {
	return field(s, "usher.requirement."+of).GetArrayValue().GetValues()[0].GetStringValue()
}

const observed = `
models:
  default: {provider: offline}
agents:
  - id: Carol
    prompt: You approve payments.
    tools: [covia:read, covia:write]
    caps: [{with: w/, can: crud/read}, {with: w/decisions/, can: crud}]
`

// The turn that the README shows is the one that comes.
func TestRunExportsTheTurnOfTheReadme(t *testing.T) {
	raw, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	agents := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(string(raw))[1]
	_, section, _ := strings.Cut(string(raw), "\n## Seeing what happens\n")
	block := regexp.MustCompile("(?s)```console\nOTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 usher run Carol \"(.*?)\"\n```.*?```text\n(.*?)```").FindStringSubmatch(section)
	if block == nil {
		t.Fatal("README.md does not show a turn")
	}
	c := collect(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.server.URL)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	status, out, notes := usher(t, "", "run", "-c", project(t, agents), "Carol", block[1])
	if status != cli.ExitOK || strings.Contains(notes, "telemetry") {
		t.Fatalf("usher run: %d %s", status, notes)
	}
	if diff := gocmp.Diff(block[2], c.turn()); diff != "" {
		t.Error(diff)
	}
	if c.resource["service.name"] != "usher" || c.resource["deployment.environment.name"] != "test" || c.resource["telemetry.sdk.language"] != "go" {
		t.Errorf("the resource is %v", c.resource)
	}
	if diff := gocmp.Diff([]string{"gen_ai.client.operation.duration", "gen_ai.client.operation.time_to_first_chunk", "usher.gate.decisions"}, c.metrics); diff != "" {
		t.Error(diff)
	}
	for _, said := range []string{"You approve payments", "Payments above 5000", block[1], strings.TrimSpace(out)} {
		if bytes.Contains(c.raw.Bytes(), []byte(said)) {
			t.Errorf("%q is exported though nobody asks for content", said)
		}
	}
}

func TestContentIsExportedWhereTheEnvironmentAsks(t *testing.T) {
	c := collect(t)
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", c.server.URL+"/v1/traces")
	t.Setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
	if status, _, notes := usher(t, "hello\n", "chat", "-c", project(t, observed), "Carol"); status != cli.ExitOK {
		t.Fatal(notes)
	}
	if !bytes.Contains(c.raw.Bytes(), []byte(`"content":"hello"`)) {
		t.Error("what was said is not exported")
	}
	if len(c.metrics) > 0 {
		t.Errorf("metrics are exported to an endpoint of traces: %v", c.metrics)
	}
}

func TestNothingIsExportedUnasked(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"no variables": {},
		"disabled":     {"OTEL_EXPORTER_OTLP_ENDPOINT": "yes", "OTEL_SDK_DISABLED": "true"},
		"no exporters": {"OTEL_EXPORTER_OTLP_ENDPOINT": "yes", "OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"},
	} {
		t.Run(name, func(t *testing.T) {
			c := collect(t)
			for key, value := range env {
				t.Setenv(key, strings.ReplaceAll(value, "yes", c.server.URL))
			}
			if status, _, notes := usher(t, "", "run", "-c", project(t, observed), "Carol", "hello"); status != cli.ExitOK || strings.Contains(notes, "telemetry") {
				t.Errorf("usher run: %d %s", status, notes)
			}
			if c.raw.Len() > 0 {
				t.Errorf("%d bytes are exported", c.raw.Len())
			}
		})
	}
}

// A collector that takes nothing costs one line, and no command.
func TestACollectorThatIsNotThere(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + gone.Addr().String()
	gone.Close()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }))
	defer refusing.Close()
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer silent.Close()
	for name, endpoint := range map[string]string{
		"it never answers": silent.URL,
		"nobody listens":   nobody, "it refuses": refusing.URL, "no address": "http://%zz", "no scheme": "localhost:4317",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
			t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "300")
			status, out, notes := usher(t, "", "run", "-c", project(t, observed), "Carol", "hello")
			if status != cli.ExitOK || !strings.Contains(out, "hello") {
				t.Errorf("usher run: %d %s %s", status, out, notes)
			}
			if n := strings.Count(notes, "note: telemetry was not delivered: "); n != 1 || strings.Count(notes, "\n") != strings.Count(strings.TrimSpace(notes), "\n")+1 {
				t.Errorf("it is told %d times:\n%s", n, notes)
			}
		})
	}
}

// A collector that asks for patience for ever is quoted.
func TestACollectorThatIsOverloaded(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for the pauses that the exporter makes between its tries")
	}
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "come back tomorrow", http.StatusServiceUnavailable)
	}))
	defer busy.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", busy.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "60000")
	status, _, notes := usher(t, "", "run", "-c", project(t, observed), "Carol", "hello")
	if status != cli.ExitOK || !strings.Contains(notes, "come back tomorrow") {
		t.Errorf("usher run: %d %s", status, notes)
	}
}

// A mistake in a model's settings is one in the configuration.
func TestAWrongSettingIsMisuse(t *testing.T) {
	status, _, notes := usher(t, "", "agents", "list", "-c", project(t, "models: {default: {provider: offline, x: 1}}\n"))
	if status != cli.ExitMisuse || !strings.Contains(notes, "usher.yaml:1:42: model default: provider offline takes no setting \"x\"") {
		t.Errorf("usher agents list: %d %s", status, notes)
	}
}
