package parts_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/fuzztest"
	"kprof/record/parts"
)

// described are a state's records as text.
func described(t testing.TB, s *parts.State) (lines []string) {
	t.Helper()
	l := newMaker().layout
	b := s.AppendTo(nil)
	for len(b) > 0 {
		h := abi.DecodeHeader(b, o)
		if int(h.Size) < abi.HeaderSize || int(h.Size) > len(b) {
			t.Fatalf("a record of %d bytes, of %d", h.Size, len(b))
		}
		payload := b[abi.HeaderSize:h.Size]
		b = b[h.Size:]
		f, _ := l.DecodeTrailer(payload)
		at := ""
		if f.Time != 0 {
			at = fmt.Sprintf(" at %d", f.Time)
		}
		switch h.Type {
		case abi.RecordFork:
			x, _ := l.DecodeTask(payload)
			lines = append(lines, fmt.Sprintf("fork %d.%d of %d.%d%s", x.PID, x.TID, x.PPID, x.PTID, at))
		case abi.RecordComm:
			x, _ := l.DecodeComm(h, payload)
			lines = append(lines, fmt.Sprintf("comm %d.%d %s %v%s", x.PID, x.TID, x.Comm, x.Exec, at))
		case abi.RecordMmap2, abi.RecordMmap:
			x, _ := l.DecodeMmap(h, payload)
			lines = append(lines, fmt.Sprintf("mmap %d %#x-%#x %s+%#x%s", x.PID, x.Addr, x.Addr+x.Len, x.File, x.Off, at))
		case abi.RecordCgroup:
			x, _ := l.DecodeCgroup(payload)
			lines = append(lines, fmt.Sprintf("cgroup %d %s%s", x.ID, x.Path, at))
		case abi.RecordBPFEvent:
			lines = append(lines, fmt.Sprintf("bpf %d%s", o.Uint32(payload[4:]), at))
		default:
			lines = append(lines, fmt.Sprintf("%v%s", h.Type, at))
		}
	}
	return lines
}

func TestState(t *testing.T) {
	m := newMaker()
	sideband := events()[2]
	kernel := func(start uint64, file string) []byte { return m.mmap(0, -1, start, 0x1000, start, file) }
	symbol := func(time, addr uint64, gone uint16) []byte {
		body := o.AppendUint64(nil, addr)
		body = o.AppendUint32(body, 64)
		body = o.AppendUint16(o.AppendUint16(body, abi.KsymbolBPF), gone)
		return m.side(abi.RecordKsymbol, 0, time, 0, 0, body, text("bpf_prog"))
	}
	bpf := func(time uint64, typ uint16, id uint32) []byte { // struct perf_bpf_event, with the program's tag
		body := o.AppendUint32(o.AppendUint16(o.AppendUint16(nil, typ), 0), id)
		return m.side(abi.RecordBPFEvent, 0, time, 0, 0, body, longs(0x1122334455667788))
	}
	cgroup := func(time, id uint64, path string) []byte {
		return m.side(abi.RecordCgroup, 0, time, 0, 0, longs(id), text(path))
	}
	for name, x := range map[string]struct {
		records [][]byte
		want    string
	}{
		"a later map cuts": {
			[][]byte{m.mmap(1, 5, 0x1000, 0x9000, 0x100, "/a"), m.mmap(2, 5, 0x3000, 0x1000, 0, "/b"), m.mmap(3, 5, 0x9000, 0x3000, 0, "/c"), m.mmap(4, 5, 0x1000, 0x1000, 0, "/d")},
			"mmap 5 0x1000-0x2000 /d+0x0\nmmap 5 0x2000-0x3000 /a+0x1100\nmmap 5 0x3000-0x4000 /b+0x0\nmmap 5 0x4000-0x9000 /a+0x3100\nmmap 5 0x9000-0xc000 /c+0x0",
		},
		"exec empties": {[][]byte{m.mmap(1, 5, 0x1000, 0x1000, 0, "/a"), m.comm(2, 5, 5, "x", true), m.mmap(3, 5, 0x2000, 0x1000, 0, "/b")}, "fork 5.5 of -1.-1\ncomm 5.5 x false\nmmap 5 0x2000-0x3000 /b+0x0"},
		"fork copies":  {[][]byte{m.comm(1, 5, 5, "x", true), m.mmap(2, 5, 0x1000, 0x1000, 0, "/a"), m.fork(3, 6, 5, 6, 5), m.mmap(4, 5, 0x1000, 0x1000, 0, "/b"), m.comm(5, 6, 6, "y", false)}, "fork 5.5 of -1.-1\ncomm 5.5 x false\nfork 6.6 of 5.5\ncomm 6.6 y false\nmmap 5 0x1000-0x2000 /b+0x0\nmmap 6 0x1000-0x2000 /a+0x0"},
		"exec ends threads": {[][]byte{m.fork(1, 10, 5, 10, 5), m.fork(2, 10, 10, 11, 10), m.comm(3, 10, 11, "t", false), m.exit(4, 10, 10), m.comm(5, 10, 10, "x", true), m.mmap(6, 10, 0x1000, 0x1000, 0, "/a")},
			"fork 10.10 of 5.5\ncomm 10.10 x false\nmmap 10 0x1000-0x2000 /a+0x0"},
		"exec of another thread, ended long ago": {[][]byte{m.fork(1, 10, 5, 10, 5), m.fork(2, 10, 10, 11, 10), m.exit(4, 10, 10), m.comm(5, 10, 10, "x", true), m.mmap(6, 10, 0x1000, 0x1000, 0, "/a"), m.exit(7, 10, 10), m.comm(2e9, 6, 6, "y", true)},
			"fork 6.6 of -1.-1\ncomm 6.6 y false"},
		"ended long ago": {[][]byte{m.comm(1, 5, 5, "x", true), m.mmap(2, 5, 0x1000, 0x1000, 0, "/a"), m.exit(3, 5, 5), m.comm(2e9, 6, 6, "y", true)}, "fork 6.6 of -1.-1\ncomm 6.6 y false"},
		"ended just now": {[][]byte{m.comm(1, 5, 5, "x", true), m.exit(3, 5, 5), m.comm(4, 6, 6, "y", true)}, "fork 5.5 of -1.-1\ncomm 5.5 x false\nfork 6.6 of -1.-1\ncomm 6.6 y false"},
		"the first ends, others do not": {[][]byte{m.comm(1, 5, 5, "x", true), m.fork(2, 5, 5, 7, 5), m.mmap(2, 5, 0x1000, 0x1000, 0, "/a"), m.exit(3, 5, 5), m.comm(2e9, 5, 7, "z", false)},
			"fork 5.7 of 5.5\ncomm 5.7 z false\nmmap 5 0x1000-0x2000 /a+0x0"},
		"the kernel":                   {[][]byte{kernel(0x8000, "[m]"), kernel(0x8000, "[n]"), symbol(1, 0x100, 0), symbol(2, 0x200, 0), symbol(3, 0x100, 1)}, "mmap -1 0x8000-0x9000 [n]+0x8000\nKSYMBOL"},
		"BPF programs that are loaded": {[][]byte{bpf(1, 1, 7), bpf(2, 1, 8), bpf(3, 1, 9), bpf(4, 2, 8)}, "bpf 7\nbpf 9"}, // PERF_BPF_EVENT_PROG_LOAD, _UNLOAD
		"cgroups":                      {[][]byte{cgroup(1, 5, "/a"), cgroup(2, 6, "/b"), cgroup(3, 5, "/c")}, "cgroup 5 /c\ncgroup 6 /b"},
		"a map of nothing":             {[][]byte{m.mmap(1, 5, 0x1000, 0, 0, "/a"), m.mmap(2, 5, ^uint64(0xfff), 0x2000, 0, "/b")}, ""},
		"no time":                      {[][]byte{m.comm(0, 5, 5, "x", false), m.comm(0, 5, 5, "y", false)}, "fork 5.5 of -1.-1\ncomm 5.5 y false"},
	} {
		s := parts.NewState(&sideband)
		for _, rec := range x.records {
			s.Take(rec)
		}
		for range 3 { // until all are in order, and what is to be forgotten is
			s.FinishRound()
		}
		if got := strings.Join(described(t, s), "\n"); got != x.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, x.want)
		}
	}
}

// TestStateOrder: records are put into the order of their times; of the last round they
// come as they are.
func TestStateOrder(t *testing.T) {
	m := newMaker()
	sideband := events()[2]
	s := parts.NewState(&sideband)
	s.Take(m.comm(20, 5, 5, "later", false))
	s.FinishRound()
	s.Take(m.comm(10, 5, 5, "early", false))
	s.Take(m.comm(30, 5, 5, "last", false))
	s.FinishRound()
	want := []string{"fork 5.5 of -1.-1", "comm 5.5 later false", "comm 5.5 last false at 30"}
	if got := described(t, s); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestStateBound: what a process maps without end is left out at some point, and counted.
func TestStateBound(t *testing.T) {
	m := newMaker()
	sideband := events()[2]
	s := parts.NewState(&sideband)
	file := strings.Repeat("x", 4000)
	const n = 40000 // 160 MB
	for i := range uint64(n) {
		s.Take(m.mmap(i+1, 5, i<<12, 1<<12, 0, file))
		if i%1000 == 0 {
			s.FinishRound()
		}
	}
	s.FinishRound()
	s.FinishRound()
	if kept := len(s.AppendTo(nil)); kept > 128<<20 || kept < 100<<20 || s.LeftOut() == 0 {
		t.Errorf("%d MB are kept, %d records left out", kept>>20, s.LeftOut())
	}
	s.Take(m.comm(n+1, 5, 5, "x", true)) // which makes room
	s.Take(m.mmap(n+2, 5, 0, 1<<12, 0, "/a"))
	s.FinishRound()
	s.FinishRound()
	if got := described(t, s); len(got) != 3 {
		t.Errorf("%d records are kept", len(got))
	}
}

// Whatever records say, a state is made of whole records, and what it kept is given back.
func FuzzState(f *testing.F) {
	fuzztest.Add(f)
	m := newMaker()
	f.Add(slices.Concat(m.comm(1, 5, 5, "x", true), m.mmap(2, 5, 0x1000, 0x9000, 0x100, "/a"), m.mmap(2, 5, 0x3000, 0x1000, 0, "/b"), m.fork(3, 6, 5, 6, 5), m.exit(4, 5, 5)))
	f.Fuzz(func(t *testing.T, b []byte) {
		sideband := events()[2]
		s := parts.NewState(&sideband)
		for len(b) >= abi.HeaderSize {
			h := abi.DecodeHeader(b, o)
			if int(h.Size) < abi.HeaderSize || int(h.Size) > len(b) {
				break
			}
			if parts.Kept(h.Type) {
				s.Take(b[:h.Size])
			} else {
				s.FinishRound()
			}
			b = b[h.Size:]
		}
		s.FinishRound()
		described(t, s)
		s.FinishRound()
		described(t, s)
		if n := parts.Disorder(s); n != "" {
			t.Error(n)
		}
	})
}
