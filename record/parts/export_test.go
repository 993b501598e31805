package parts

import (
	"fmt"
	"runtime"
)

// Wait waits until all parts that have ended are finished.
func (d *Divider) Wait() {
	for d.busy.Load() > 0 {
		runtime.Gosched()
	}
}

// Disorder says what is wrong in a state, "" for nothing.
func Disorder(s *State) string {
	bytes := 0
	keep := func(rec []byte) {
		if rec != nil {
			bytes += len(rec) + keptSize
		}
	}
	for pid, p := range s.processes {
		for i, m := range p.maps {
			if keep(m.rec); m.start >= m.end || i > 0 && p.maps[i-1].end > m.start {
				return fmt.Sprintf("map %d of %d: %#x-%#x", i, pid, m.start, m.end)
			}
		}
		for _, t := range p.threads {
			keep(t.comm)
		}
	}
	for _, rec := range s.kernel {
		keep(rec)
	}
	if bytes != s.bytes {
		return fmt.Sprintf("%d bytes are kept, not %d", bytes, s.bytes)
	}
	return ""
}
