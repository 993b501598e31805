package replay

import (
	"cmp"
	"slices"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// perfMaps are the maps of processes as perf has them: a fork copies those of the
// parent, an exec leaves them as they are, and a later map cuts an older one.
type perfMaps map[int32][]perfMap

// perfMap is a map of a process since a time, or its beginning as a copy.
type perfMap struct {
	time uint64
	mmap *abi.Mmap // nil for a beginning
	of   int32     // whose copy it begins as, -1 for nobody's
}

// readMaps reads the maps of a recording. Where its records have no times, their places
// take the place of these.
func readMaps(r *perfdata.Reader) perfMaps {
	all := perfMaps{}
	byPlace := slices.ContainsFunc(r.Events.Events, func(e *perfdata.Event) bool {
		return e.Attr.SampleType&abi.SampleTime == 0 || e.Attr.Flags&abi.FlagSampleIDAll == 0
	})
	var place uint64
	for rec, err := range r.Records() {
		if err != nil {
			break
		}
		place++
		first := r.Events.OfOther(nil)
		if first == nil {
			continue
		}
		l := &first.Layout
		p := rec.Payload[:max(0, len(rec.Payload)-l.Excess(rec.Type, rec.Payload))]
		if e := r.Events.OfOther(p); e != nil {
			l = &e.Layout
		}
		f, _ := l.DecodeTrailer(p)
		if byPlace {
			f.Time = place - 1
		}
		switch rec.Type {
		case abi.RecordMmap, abi.RecordMmap2:
			m, err := l.DecodeMmap(rec.Header, p)
			if err != nil || rec.Misc.CPUMode() == abi.MiscGuestUser || m.PID == -1 || m.Len == 0 {
				continue
			}
			if m.File == "[vdso]" {
				m.Off = 0 // Linux 3.2 says its address
			}
			all[m.PID] = append(all[m.PID], perfMap{f.Time, &m, -1})
		case abi.RecordFork:
			t, err := l.DecodeTask(p)
			if err != nil || t.PID == t.PPID || t.PID != t.TID {
				continue
			}
			of := t.PPID
			if rec.Misc&abi.MiscForkExec != 0 {
				of = -1 // perf tells of who was there, and of its maps by themselves
			}
			all[t.PID] = append(all[t.PID], perfMap{f.Time, nil, of})
		}
	}
	for _, l := range all {
		slices.SortStableFunc(l, func(a, b perfMap) int { return cmp.Compare(a.time, b.time) })
	}
	return all
}

// find returns what a process has mapped at an address at a time, or nil.
func (m perfMaps) find(pid int32, addr, at uint64, depth int) *abi.Mmap {
	for _, c := range slices.Backward(m[pid]) {
		switch {
		case c.time > at:
		case c.mmap == nil && (c.of < 0 || depth > 1000):
			return nil
		case c.mmap == nil:
			return m.find(c.of, addr, c.time, depth+1)
		case addr >= c.mmap.Addr && addr-c.mmap.Addr < c.mmap.Len:
			return c.mmap
		}
	}
	return nil
}
