package tools

import (
	"context"
	"errors"
	"log/slog"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"usher/caps"
	"usher/tools/fault"
)

// Attributes of a decision. Requirements are three lists side by side: the
// first ability is asked for on the first resource and met by the first
// capability, and so on. Names of resources are recorded, inputs are not.
const (
	keyOperation  = attribute.Key("usher.operation") // catalogue path
	keyVerdict    = attribute.Key("usher.verdict")   // "allowed" or "denied"
	keyOwner      = attribute.Key("usher.owner")     // DID of the caller's principal
	keyAgent      = attribute.Key("usher.agent")
	keyVia        = attribute.Key("usher.via") // agents on whose behalf, the first caller first
	keySession    = attribute.Key("usher.session")
	keyJob        = attribute.Key("usher.job")
	keyAbility    = attribute.Key("usher.requirement.ability")
	keyResource   = attribute.Key("usher.requirement.resource")
	keyCapability = attribute.Key("usher.requirement.capability") // "(unmet)" where none is held
	keyOmitted    = attribute.Key("usher.requirements.omitted")   // those after the first MaxNeeds
	keyProofs     = attribute.Key("usher.proofs")                 // CIDs of the delegations that were used
	keyReason     = attribute.Key("usher.reason")                 // of a denial
)

const (
	verdictAllowed = "allowed"
	verdictDenied  = "denied"
	unmet          = "(unmet)"
)

// watch shows decisions to OpenTelemetry. Nil shows nothing, and costs nothing.
type watch struct {
	tracer    trace.Tracer
	decisions metric.Int64Counter
}

func newWatch(opts *GateOptions) *watch {
	tracers, meters := opts.Tracer, opts.Meter
	if tracers == nil && meters == nil {
		return nil
	}
	if tracers == nil {
		tracers = tracenoop.NewTracerProvider()
	}
	if meters == nil {
		meters = metricnoop.NewMeterProvider()
	}
	const scope = "usher/tools"
	w := &watch{tracer: tracers.Tracer(scope, trace.WithSchemaURL(semconv.SchemaURL))}
	var err error
	w.decisions, err = meters.Meter(scope, metric.WithSchemaURL(semconv.SchemaURL)).Int64Counter("usher.gate.decisions",
		metric.WithDescription("Decisions of the gate."), metric.WithUnit("{decision}"))
	if err != nil { // of somebody else's provider: the gate opens without the count
		w.decisions = metricnoop.Int64Counter{}
	}
	return w
}

// start begins the span of a decision, whose name is known once the operation is.
func (w *watch) start(ctx context.Context) (context.Context, trace.Span) {
	if w == nil {
		return ctx, nil
	}
	return w.tracer.Start(ctx, "usher.gate.decide")
}

// show tells how the gate ruled.
func (g *Gate) show(ctx context.Context, span trace.Span, r *Ruling, err error) {
	denial, _ := errors.AsType[*caps.Denial](err)
	verdict, operation := "", ""
	if r.op != nil && r.op.home != nil { // a name that means nothing is anybody's text
		operation = r.op.path
	}
	switch {
	case err == nil:
		verdict = verdictAllowed
	case denial != nil:
		verdict = verdictDenied
	}
	if g.log.Enabled(ctx, slog.LevelDebug) {
		g.log.LogAttrs(ctx, slog.LevelDebug, "gate decided",
			slog.String("operation", operation), slog.String("verdict", verdict), slog.String("failure", class(err)),
			slog.String("agent", r.auth.Actor()), slog.String("session", r.auth.trail.Session), slog.String("job", r.auth.trail.Run))
	}
	if g.watch == nil {
		return
	}
	if verdict != "" {
		set := []attribute.KeyValue{keyVerdict.String(verdict)}
		if operation != "" {
			set = append(set, keyOperation.String(operation))
		}
		g.watch.decisions.Add(ctx, 1, metric.WithAttributes(set...))
	}
	if span.IsRecording() {
		r.describe(span, verdict)
		if err != nil && denial == nil {
			span.SetAttributes(semconv.ErrorTypeKey.String(class(err)))
			span.SetStatus(codes.Error, "") // its text may quote the input
		}
	}
	span.End()
}

func (r *Ruling) describe(span trace.Span, verdict string) {
	set := make([]attribute.KeyValue, 0, 12)
	text := func(key attribute.Key, value string) {
		if value != "" {
			set = append(set, key.String(value))
		}
	}
	rows, reason := r.Requirements(), r.reason
	if r.op != nil {
		text(keyOperation, r.op.path)
		if r.op.home != nil {
			span.SetName("usher.gate.decide " + r.op.path)
		}
	}
	text(keyVerdict, verdict)
	text(keyOwner, r.auth.Owner().String())
	text(keyAgent, r.auth.Actor())
	text(keySession, r.auth.trail.Session)
	text(keyJob, r.auth.trail.Run)
	text(keyReason, Cut(reason))
	if via := r.auth.Via(); len(via) > 0 {
		set = append(set, keyVia.StringSlice(via))
	}
	span.SetAttributes(append(set, requirementAttributes(rows)...)...)
}

func requirementAttributes(rows []Requirement) []attribute.KeyValue {
	if len(rows) == 0 {
		return nil
	}
	rows, omitted := shown(rows)
	var abilities, resources, by, proofs []string
	for _, row := range rows {
		abilities, resources = append(abilities, row.Ability), append(resources, row.Resource)
		if row.Unmet || row.By == "" {
			row.By = unmet
		}
		by = append(by, row.By)
		proofs = append(proofs, row.Proofs...)
	}
	set := []attribute.KeyValue{keyAbility.StringSlice(abilities), keyResource.StringSlice(resources), keyCapability.StringSlice(by)}
	if len(proofs) > 0 {
		set = append(set, keyProofs.StringSlice(proofs))
	}
	if omitted > 0 {
		set = append(set, keyOmitted.Int(omitted))
	}
	return set
}

// class is an error's code, as the conventions of traces spell it: one that has
// none is "_OTHER".
func class(err error) string {
	if code := fault.Of(err); code != fault.Failed {
		return string(code)
	}
	return semconv.ErrorTypeOther.Value.AsString()
}
