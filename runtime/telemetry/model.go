package telemetry

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/genaiconv"
	"go.opentelemetry.io/otel/trace"

	"usher/tools/spend"
)

// unknownProvider stands where a model does not say whose it is: the
// conventions require a value.
const unknownProvider = "_OTHER"

// ModelCall is one request to a model. Empty fields are not recorded.
type ModelCall struct {
	Provider string // by the conventions' names, for example "openai"
	Model    string // as it is asked for
	Server   string // host, or host:port; the port of https may be left out
	JSON     bool   // an answer in JSON is asked for
}

// ModelSpan is a model call while it runs. Nil is valid. It belongs to one
// goroutine.
type ModelSpan struct {
	turn   *TurnSpan // that it belongs to
	span   trace.Span
	call   ModelCall
	began  time.Time
	first  time.Duration // until the first chunk
	chunks int
}

// StartModelCall begins the span "chat MODEL". The request belongs below the
// context that it returns.
func (s *TurnSpan) StartModelCall(ctx context.Context, call ModelCall) (context.Context, *ModelSpan) {
	if s == nil {
		return ctx, nil
	}
	call.Provider = cmp.Or(call.Provider, unknownProvider)
	set := append(attributes{semconv.GenAIProviderNameKey.String(call.Provider)}, call.target()...)
	if call.JSON {
		set = append(set, semconv.GenAIOutputTypeJSON)
	}
	ctx, span := s.start(ctx, semconv.GenAIOperationNameChat, call.Model, trace.SpanKindClient, set)
	return ctx, &ModelSpan{turn: s, span: span, call: call, began: time.Now()}
}

// target is which model is asked and where, for the span and the metrics.
func (c *ModelCall) target() attributes {
	var set attributes
	set.text(semconv.GenAIRequestModelKey, c.Model)
	if c.Server == "" {
		return set
	}
	host, text, err := net.SplitHostPort(c.Server)
	if err != nil {
		host, text = strings.Trim(c.Server, "[]"), "443"
	}
	set.text(semconv.ServerAddressKey, host)
	if port, err := strconv.Atoi(text); err == nil {
		set = append(set, semconv.ServerPort(port))
	}
	return set
}

// Chunk notes that a piece of the answer came.
func (s *ModelSpan) Chunk() {
	if s == nil {
		return
	}
	if s.chunks == 0 {
		s.first = time.Since(s.began)
	}
	s.chunks++
}

// Delay notes a wait within the call, as the event "usher.model.delayed": until it
// is made again, as the try of that number, or until the next model is asked.
func (s *ModelSpan) Delay(wait time.Duration, next string, try int) {
	if s == nil {
		return
	}
	set := attributes{attribute.Float64("usher.delay.wait", wait.Seconds())}
	set.text("usher.delay.next", brief(next))
	if try > 0 {
		set = append(set, attribute.Int("usher.delay.try", try))
	}
	s.span.AddEvent("usher.model.delayed", trace.WithAttributes(set...))
}

// Answer is what came of a model call: all of it, or what came before an error.
type Answer struct {
	Model  string // which model answered, in the provider's word
	Finish string // why the answer ended, in the provider's word
	Usage  spend.Usage

	Message Message // recorded where [Options.Content] asks for it
}

// End closes the call, and records its metrics. err is why it failed, or nil.
func (s *ModelSpan) End(ctx context.Context, answer Answer, err error) {
	if s == nil {
		return
	}
	defer s.span.End()
	s.turn.t.used.add(&s.call, answer.Usage, err != nil)
	ctx, took := context.WithoutCancel(ctx), time.Since(s.began)
	answer.Model, answer.Finish = brief(answer.Model), brief(answer.Finish) // the server's words
	m, chat, provider := &s.turn.t.meters, genaiconv.OperationNameChat, genaiconv.ProviderNameAttr(s.call.Provider)
	var set attributes
	set.text(semconv.GenAIResponseModelKey, answer.Model)
	measured := append(s.call.target(), set...)
	if answer.Finish != "" {
		set = append(set, semconv.GenAIResponseFinishReasons(answer.Finish))
	}
	set.usage(answer.Usage)
	if s.chunks > 1 { // the time to the first one means nothing otherwise
		set = append(set, semconv.GenAIResponseTimeToFirstChunk(s.first.Seconds()))
		m.first.Record(ctx, s.first.Seconds(), chat, provider, measured...)
	}
	if s.Content() && err == nil {
		set = append(set, semconv.GenAIOutputMessagesKey.String(s.outputJSON(&answer)))
	}
	s.span.SetAttributes(set...)
	if u := answer.Usage; u.Input > 0 || u.Output > 0 {
		m.tokens.Record(ctx, int64(u.Input), chat, provider, genaiconv.TokenTypeInput, measured...)
		m.tokens.Record(ctx, int64(u.Output), chat, provider, genaiconv.TokenTypeOutput, measured...)
		if u.Cost != 0 {
			m.cost.Add(ctx, cost(u), metric.WithAttributes(append(slices.Clone(measured), semconv.GenAIProviderNameKey.String(s.call.Provider))...))
		}
	}
	if err != nil {
		class, _ := s.turn.fail(s.span, err)
		measured = append(measured, class)
	}
	m.duration.Record(ctx, took.Seconds(), chat, provider, measured...)
}
