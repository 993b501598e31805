package locate

import "kprof/convert/timeline"

// views are the views of one sample, each made when it is first needed: most
// samples need the kernel's and the user's.
type views struct {
	tl    *timeline.Timeline
	state timeline.State
	made  [timeline.NumModes]bool
	views [timeline.NumModes]timeline.View
}

// of makes vs those of a sample with the given state.
func (vs *views) of(tl *timeline.Timeline, st *timeline.State) {
	vs.tl, vs.state = tl, *st
	vs.made = [timeline.NumModes]bool{}
}

func (vs *views) at(m timeline.Mode) *timeline.View {
	v := &vs.views[m]
	if !vs.made[m] {
		vs.made[m] = true
		*v = vs.tl.View(&vs.state, m)
	}
	return v
}
