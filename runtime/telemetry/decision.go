package telemetry

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"usher/caps"
	"usher/tools"
)

// Attributes of a decision. Requirements are three lists side by side: the
// first ability is asked for on the first resource and met by the first
// capability, and so on. Names of resources are recorded, inputs are not.
const (
	verdictKey    = attribute.Key("usher.verdict") // "allowed" or "denied"
	agentKey      = attribute.Key("usher.agent")
	viaKey        = attribute.Key("usher.via") // agents on whose behalf, the first caller first
	sessionKey    = attribute.Key("usher.session")
	abilityKey    = attribute.Key("usher.requirement.ability")
	resourceKey   = attribute.Key("usher.requirement.resource")
	capabilityKey = attribute.Key("usher.requirement.capability") // "(unmet)" where none is held
	omittedKey    = attribute.Key("usher.requirements.omitted")   // those beyond what an entry holds
	proofsKey     = attribute.Key("usher.proofs")                 // CIDs of the delegations that were used
	reasonKey     = attribute.Key("usher.reason")                 // of a denial
)

var _ tools.Observer = (*Telemetry)(nil)

// StartDecision begins the span "usher.gate.decide OPERATION".
func (t *Telemetry) StartDecision(ctx context.Context) (context.Context, func(*tools.Ruling, error)) {
	if t == nil {
		return ctx, func(*tools.Ruling, error) {}
	}
	ctx, span := t.tracer.Start(ctx, "usher.gate.decide")
	return ctx, func(r *tools.Ruling, err error) { t.endDecision(ctx, span, r, err) }
}

func (t *Telemetry) endDecision(ctx context.Context, span trace.Span, r *tools.Ruling, err error) {
	defer span.End()
	if !t.meters.decisions.Enabled(ctx) && !span.IsRecording() {
		return
	}
	e, denial := r.Entry(), r.Denial()
	verdict, operation := "", ""
	if _, denied := errors.AsType[*caps.Denial](err); denied {
		verdict = "denied"
	} else if err == nil {
		verdict = "allowed"
	}
	if e.Known {
		operation = e.Operation
		span.SetName("usher.gate.decide " + operation)
	}
	if verdict != "" {
		set := attributes{verdictKey.String(verdict)}
		set.text(operationKey, operation)
		t.meters.decisions.Add(ctx, 1, metric.WithAttributes(set...))
	} else {
		span.SetAttributes(errorType(err))
		span.SetStatus(codes.Error, "") // its text may quote the input
	}
	if denial == nil {
		e.Reason = "" // of a guard: it may quote the input, too
	}
	span.SetAttributes(decision(&e, verdict)...)
}

func decision(e *tools.Entry, verdict string) (set attributes) {
	set.text(operationKey, e.Operation)
	set.text(verdictKey, verdict)
	set.text(ownerKey, e.Owner)
	set.text(agentKey, e.Actor)
	set.text(sessionKey, e.Session)
	set.text(jobKey, e.Job)
	set.text(reasonKey, e.Reason)
	set.list(viaKey, e.Via)
	var abilities, resources, by, proofs []string
	for _, row := range e.Needs {
		if row.Unmet || row.By == "" {
			row.By = "(unmet)"
		}
		abilities, resources, by = append(abilities, row.Ability), append(resources, row.Resource), append(by, row.By)
		proofs = append(proofs, row.Proofs...)
	}
	set.list(abilityKey, abilities)
	set.list(resourceKey, resources)
	set.list(capabilityKey, by)
	set.list(proofsKey, proofs)
	if e.Omitted > 0 {
		set = append(set, omittedKey.Int(e.Omitted))
	}
	return set
}
