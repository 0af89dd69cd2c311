package wrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"usher/runtime"
)

// Fallback returns a model that asks the models in their order until one
// answers: the next is asked when one fails before anything of its answer but
// token counts was passed on. It does not go on after ctx has ended, nor
// after a spent budget or a refused replay: those bound the caller, and
// another model would be a way round them. A conversation
// that one model has no room for may fit the next. When all fail, the error
// holds every model's. A [runtime.Delay] tells the consumer when another model
// is asked.
func Fallback(models ...runtime.Model) runtime.Model {
	f := new(over)
	if len(models) > 0 {
		f.Model = models[0]
	}
	f.generate = func(ctx context.Context, req *runtime.Request, yield func(runtime.Chunk, error) bool) {
		calls := tries{yield: yield}
		var failures []error
		for i, m := range models {
			err := calls.pass(ctx, m, req)
			if err == nil {
				return
			}
			failures = append(failures, err)
			if ctx.Err() != nil || final(err) || i+1 == len(models) {
				break
			}
			if !yield(runtime.Chunk{Delay: &runtime.Delay{Reason: err.Error(), Next: nameOf(models[i+1])}}, nil) {
				return
			}
		}
		yield(runtime.Chunk{}, together(models, failures))
	}
	return f
}

// nameOf is what a person calls the model: as the configuration does, if it can.
func nameOf(m runtime.Model) string {
	if metered, ok := runtime.As[*meter](m); ok && metered.name != "" {
		return metered.name
	}
	about := runtime.Describe(m)
	return cmp.Or(about.Model, about.Provider, "a model without a name")
}

// together is the failures of the first models as one error, on one line.
func together(models []runtime.Model, failures []error) error {
	switch len(failures) {
	case 0:
		return errors.New("fallback: there are no models to ask: give at least one")
	case 1:
		return failures[0]
	}
	format, args := "%d of %d models failed", []any{len(failures), len(models)}
	for i, err := range failures {
		format += "; %s: %w"
		args = append(args, nameOf(models[i]), err)
	}
	return fmt.Errorf(format, args...)
}
