package venue

import (
	"crypto/rand"
	"io"
	"log/slog"
	"time"

	"usher/runtime"
	"usher/runtime/telemetry"
	"usher/tools"
	"usher/venue/config"
)

// Options says how to open a venue. Nil and the zero value are valid: a venue
// in memory, without models of its own.
type Options struct {
	Dir       string                   // data folder, made when missing; empty keeps everything in memory
	Name      string                   // shown to models; empty takes the configuration's, then "usher"
	Config    *config.Config           // models, agents, orchestrations and data to begin with; may be nil
	Models    map[string]runtime.Model // models by name, beside those of Config; they win over them
	Providers runtime.Providers        // model providers by name, beside the built-in "offline"
	Tools     []*tools.Operation       // operations beside the built-in ones
	Limits    Limits
	Logger    *slog.Logger      // nil discards
	Telemetry telemetry.Options // OpenTelemetry's traces and metrics; zero makes none
	Now       func() time.Time  // nil is time.Now
	Rand      io.Reader         // keys and ids; nil is crypto/rand
}

// Limits bounds turns and calls. A zero field takes the configuration's value,
// then the default.
type Limits struct {
	ModelCalls  int           // of a turn; default 20
	ToolTimeout time.Duration // of a tool call; default 300 s
	ToolsAtOnce int           // calls of one answer that run side by side; default 8
	ToolResult  int           // bytes of a tool's result to the model; default 256 KiB
	OutputTries int           // answers until one fits an output schema; default 3
	CallDepth   int           // operations that start operations; default 16
}

func (o *Options) filled() Options {
	var out Options
	if o != nil {
		out = *o
	}
	if out.Logger == nil {
		out.Logger = slog.New(slog.DiscardHandler)
	} else if out.Telemetry.Tracer != nil {
		out.Logger = slog.New(telemetry.Handler(out.Logger.Handler()))
	}
	if out.Now == nil {
		out.Now = time.Now
	}
	if out.Rand == nil {
		out.Rand = rand.Reader
	}
	if c := out.Config; c != nil {
		out.Limits = out.Limits.or(Limits{
			ModelCalls: c.Limits.ModelCalls, ToolTimeout: c.Limits.ToolTimeout, ToolResult: c.Limits.ToolResult, ToolsAtOnce: c.Limits.ToolsAtOnce,
			OutputTries: c.Limits.OutputTries, CallDepth: c.Limits.CallDepth,
		})
		if out.Name == "" {
			out.Name = c.Name
		}
	}
	if out.Name == "" {
		out.Name = "usher"
	}
	return out
}

func (l Limits) or(m Limits) Limits {
	return Limits{
		ModelCalls: either(l.ModelCalls, m.ModelCalls), ToolTimeout: either(l.ToolTimeout, m.ToolTimeout),
		ToolResult: either(l.ToolResult, m.ToolResult), OutputTries: either(l.OutputTries, m.OutputTries),
		CallDepth: either(l.CallDepth, m.CallDepth), ToolsAtOnce: either(l.ToolsAtOnce, m.ToolsAtOnce),
	}
}

func either[T comparable](a, b T) T {
	var zero T
	if a != zero {
		return a
	}
	return b
}
