package replay

import (
	"slices"

	"kprof/convert/stacks"
	"kprof/perfevent/perfdata"
)

// WakerLabel is the label that says who woke a task, with Options.Wakers.
const WakerLabel = "waker"

// WakerFrame stands between the stack at which a task left and that of who woke it, as in
// offwaketime of bcc.
const WakerFrame = "--"

// wakers joins the stacks at which tasks left the CPU with those of who woke them:
//
//	leaf  name of who woke
//	      its stack, the root first
//	      --
//	root  stack at which the task left, the leaf first
//
// so that what a task waited for stands above what it did.
type wakers struct {
	r       *rows
	on      bool
	events  int    // that were looked at
	waking  bool   // some event is sched_waking
	between uint32 // location of WakerFrame

	joined map[[2]stacks.StackID]stacks.StackID
	stack  []uint32 // scratch
}

func newWakers(r *rows) wakers {
	w := wakers{r: r, on: r.opts.Wakers, joined: map[[2]stacks.StackID]stacks.StackID{}}
	if w.on {
		w.between = w.frame(WakerFrame)
	}
	return w
}

// frame adds a location with a name and no place.
func (w *wakers) frame(name string) uint32 {
	loc := w.r.set.AddLocation(stacks.NoMapping, 0, stacks.KindUnknown)
	w.r.set.SetLines(loc, stacks.Line{Function: w.r.set.AddFunction(stacks.Function{Name: name, SystemName: name})})
	return loc
}

// takesWaker reports whether the stack of an event's samples is that of who wakes. That of
// sched_wakeup may be of an interrupt on the CPU of the task itself: it counts only where
// there is no sched_waking.
func (o *offCPU) takesWaker(f *switchFields) bool {
	w := &o.wakers
	if !w.on {
		return false
	}
	if events := o.x.r.events.Events; len(events) != w.events {
		w.events = len(events)
		w.waking = slices.ContainsFunc(events, func(e *perfdata.Event) bool {
			f := o.fields(e)
			return f != nil && f.waking
		})
	}
	return f.waking || !w.waking
}

// join is the stack of a time off the CPU, without the name of who woke.
func (w *wakers) join(off, waker stacks.StackID) stacks.StackID {
	key := [2]stacks.StackID{off, waker}
	id, ok := w.joined[key]
	if !ok {
		set := w.r.set
		w.stack = append(w.stack[:0], set.Stack(waker)...)
		slices.Reverse(w.stack)
		w.stack = append(append(w.stack, w.between), set.Stack(off)...)
		id = set.Intern(w.stack[:min(len(w.stack), stacks.MaxDepth)])
		w.joined[key] = id
	}
	return id
}

// name puts the names of who woke at the leaves. It is to be called once there are no more
// samples.
func (w *wakers) name() {
	if !w.on {
		return
	}
	set := w.r.set
	frames := map[string][]uint32{}
	set.Extend(func(l stacks.LabelsID) (leaf, root []uint32) {
		by, ok := set.Label(l, WakerLabel)
		if !ok {
			return nil, nil
		}
		if frames[by.Str] == nil {
			frames[by.Str] = []uint32{w.frame(by.Str)}
		}
		return frames[by.Str], nil
	})
}
