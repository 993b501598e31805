package stacktext

import (
	"io"
	"math"
	"slices"
)

// LeftOut says what samples a text has where Options select none of them: of each
// value of what can be selected by, how many.
type LeftOut struct {
	Comms            map[string]uint64
	PIDs, TIDs, CPUs map[int32]uint64 // empty where samples have none
}

// selects tells whether a sample with this header is to be taken.
func (o *Options) selects(h *header) bool {
	return (len(o.PIDs) == 0 || h.hasPID && slices.Contains(o.PIDs, h.pid)) &&
		(len(o.TIDs) == 0 || h.hasTID && slices.Contains(o.TIDs, h.tid)) &&
		(len(o.CPUs) == 0 || h.hasCPU && slices.Contains(o.CPUs, h.cpu)) &&
		(o.From == 0 || h.hasTime && h.time >= o.From) &&
		(o.To == 0 || h.hasTime && h.time <= o.To) &&
		(len(o.Comms) == 0 || h.hasComm && slices.ContainsFunc(o.Comms, func(c string) bool { return c == string(h.comm) }))
}

// openWindow sets From and To by the time of the first sample.
func (o *Options) openWindow(first uint64) (err error) {
	o.From, o.To, err = o.Window(max(first, 1), 0)
	o.Window = nil
	return err
}

// Span reads text of the dialect d for the times of the first and the last sample, in ns
// of the text's clock, 0 where samples have none. It fails as Read does.
func Span(r io.Reader, d Dialect) (first, last uint64, err error) {
	if d != PerfScript {
		return 0, 0, nil
	}
	_, st, err := readPerfScript(r, Options{From: math.MaxUint64})
	if err != nil {
		return 0, 0, err
	}
	return st.FirstTime, st.LastTime, nil
}

// maxLeftOut bounds each of the maps of a LeftOut.
const maxLeftOut = 1 << 14

// census counts the samples that are left out.
type census struct{ left *LeftOut }

func (c *census) add(h *header) {
	l := c.left
	if l == nil {
		l = &LeftOut{map[string]uint64{}, map[int32]uint64{}, map[int32]uint64{}, map[int32]uint64{}}
		c.left = l
	}
	if h.hasComm {
		if n, known := l.Comms[string(h.comm)]; known || len(l.Comms) < maxLeftOut {
			l.Comms[string(h.comm)] = n + 1
		}
	}
	count(l.PIDs, h.pid, h.hasPID)
	count(l.TIDs, h.tid, h.hasTID)
	count(l.CPUs, h.cpu, h.hasCPU)
}

func count(m map[int32]uint64, k int32, has bool) {
	if n, known := m[k]; has && (known || len(m) < maxLeftOut) {
		m[k] = n + 1
	}
}
