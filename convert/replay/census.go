package replay

import (
	"kprof/convert/samples"
	"kprof/perfevent/format/expr"
)

// LeftOut says what samples there are where Options select none of them: of each
// value of what can be selected by, how many.
type LeftOut struct {
	Samples     uint64
	Comms       map[string]uint64
	PIDs, TIDs  map[int32]uint64
	CPUs        map[int32]uint64 // empty where samples do not tell
	First, Last uint64           // times, ns of the recording's clock; 0 if samples have none
	From, To    uint64           // of Options, or what their Window came to

	Matching  uint64 // samples that match Options.Where, whatever else is asked for
	Unmatched uint64 // samples for which it has no value, as their event lacks a field
}

// maxLeftOut bounds each of the maps of a LeftOut; what comes later is counted in
// Samples alone.
const maxLeftOut = 1 << 14

// census counts the samples that are left out until one is not.
type census struct {
	left LeftOut
	over bool // one was taken
}

func (c *census) add(r *rows, s *samples.Sample) {
	if c.over {
		return
	}
	l := &c.left
	if l.Samples++; l.Samples == 1 {
		l.Comms = map[string]uint64{}
		l.PIDs, l.TIDs, l.CPUs = map[int32]uint64{}, map[int32]uint64{}, map[int32]uint64{}
	}
	if r.opts.Where != nil {
		switch r.fields.matches(r, s) {
		case expr.Yes:
			l.Matching++
		case expr.Unknown:
			l.Unmatched++
		}
	}
	count(l.Comms, r.tl.Comm(s.State.Name, s.TID))
	count(l.PIDs, s.PID)
	count(l.TIDs, s.TID)
	if s.CPU >= 0 {
		count(l.CPUs, s.CPU)
	}
	if t := s.When(); t != 0 {
		if l.First == 0 || t < l.First {
			l.First = t
		}
		l.Last = max(l.Last, t)
	}
}

func count[K comparable](m map[K]uint64, k K) {
	if n, known := m[k]; known || len(m) < maxLeftOut {
		m[k] = n + 1
	}
}

func (c *census) result(o *Options) *LeftOut {
	if c.over || c.left.Samples == 0 {
		return nil
	}
	c.left.From, c.left.To = o.From, o.To
	return &c.left
}
