package venue

import (
	"cmp"
	"crypto/rand"
	"io"
	"log/slog"
	"reflect"
	"time"

	"usher/runtime"
	"usher/runtime/telemetry"
	"usher/tools"
	"usher/tools/approvals"
	"usher/tools/form"
	"usher/venue/config"
	"usher/venue/store"
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
	Limits    config.Limits            // of turns and calls; a zero field takes the configuration's value, then the default

	// Retention says what stays of sessions, runs and rows of the ledger that are
	// over: a zero field takes the configuration's value, and zero there keeps all.
	Retention config.Retention

	// Auth says how callers from outside prove who they are: the zero value takes the
	// configuration's.
	Auth config.Auth

	// Checkpoints are files and URLs outside the data folder that each
	// checkpoint of the ledger goes to, beside those of the configuration.
	Checkpoints []string

	// ReadOnly opens the folder of Dir without writing anything to it, also while another process has
	// it open, on a disk that is full or read-only, or where it is another user's. All rows are kept in
	// memory. The configuration is not applied, nothing is swept or ended, and nothing goes to the
	// ledger. Reading is allowed; what would write, and what must be recorded, fails with an error that
	// wraps [journal.ErrReadOnly].
	ReadOnly bool

	// Idle leaves runs that have not ended alone, and schedules: for programs that only look after the
	// venue. Without it, runs go on from where the venue was left, and those that run at [Venue.Close]
	// rest until it is opened again.
	Idle bool

	// Asked is told of each call that waits for a person, and again when that is answered or has
	// expired. It must not wait, and gives no answer itself; nil is nobody.
	Asked func(approvals.Request)

	Told     func(text string) // what was found wrong with the store on disk, and mended; nil is nobody
	Progress func(text string) // how far a long work on the store is; nil is nobody

	Logger    *slog.Logger      // nil discards
	Telemetry telemetry.Options // OpenTelemetry's traces and metrics; zero makes none
	Now       func() time.Time  // nil is time.Now
	Rand      io.Reader         // keys and ids; nil is crypto/rand

	engine func(store.Engine) store.Engine // stands before that of Dir, in tests that crash; nil is none
}

func (o *Options) withDefaults() Options {
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
		out.Limits = form.Over(c.Limits, out.Limits)
		out.Retention = form.Over(c.Retention, out.Retention)
		if reflect.DeepEqual(out.Auth, config.Auth{}) {
			out.Auth = c.Auth
		}
		out.Name = cmp.Or(out.Name, c.Name)
	}
	out.Name = cmp.Or(out.Name, "usher")
	return out
}
