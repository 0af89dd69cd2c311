package wrap

import "usher/runtime"

// described is a model that says of itself what another one does, and its own
// window.
type described struct {
	runtime.Model
	as     runtime.Model // may be nil
	window int           // 0 is the other's
}

var (
	_ runtime.Describer = (*described)(nil)
	_ runtime.Wrapper   = (*described)(nil)
)

// Unwrap returns the model below.
func (d *described) Unwrap() runtime.Model { return d.Model }

// About asks each time: a model may be made only when it is first needed.
func (d *described) About() runtime.About {
	about := runtime.Describe(d.as)
	if d.window != 0 {
		about.Window = d.window
	}
	return about
}
