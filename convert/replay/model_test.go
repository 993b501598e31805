package replay

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kprof/convert/timeline"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
)

// A happening is a record with what it does, in the model and as text.
type happening struct {
	time   uint64
	text   string
	do     func(*world) // nil for a sample
	sample *modelSample
	cpu    int
	place  uint64 // in the ring of its CPU
}

type modelSample struct {
	pid, tid     int
	kernel, user []uint64
}

// world is the state of a machine, as plain as can be: everything is copied, and
// looked for from the end.
type world struct {
	names  map[int]string
	maps   map[int][]modelMap
	before map[int][]modelMap // an exec
	kernel []modelMap
}

type modelMap struct {
	start, end, off uint64
	file            string // "" for a hole
	pid             int
}

func find(maps []modelMap, addr uint64) *modelMap {
	for i := len(maps) - 1; i >= 0; i-- {
		if m := &maps[i]; m.start <= addr && addr < m.end {
			return m
		}
	}
	return nil
}

// modelDump is what dump should say of the happenings in the order of a file.
func modelDump(hs []happening) string {
	hs = slices.Clone(hs)
	slices.SortStableFunc(hs, func(a, b happening) int {
		if c := cmp.Compare(a.time, b.time); c != 0 {
			return c
		}
		return cmp.Compare(b2i(a.do == nil), b2i(b.do == nil)) // ties go to the state
	})
	w := &world{names: map[int]string{}, maps: map[int][]modelMap{}, before: map[int][]modelMap{}}
	rows := map[string]int{}
	unnamed := 0
	for _, h := range hs {
		if h.do != nil {
			h.do(w)
			continue
		}
		name, ok := w.names[h.sample.tid]
		if !ok {
			name = fmt.Sprintf(":%d", h.sample.tid)
			unnamed++
		}
		rows[fmt.Sprintf("cpu-clock %s/%d: %s", name, h.sample.pid, w.stack(h.sample))]++
	}
	var lines []string
	for r, n := range rows {
		lines = append(lines, fmt.Sprintf("%s = %d %d", r, n, n))
	}
	slices.Sort(lines)
	if unnamed > 0 {
		lines = append(lines, fmt.Sprintf("unnamed: %d", unnamed))
	}
	return strings.Join(append(lines, ""), "\n")
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (w *world) stack(s *modelSample) string {
	var frames []string
	for i, addr := range s.kernel {
		if i > 0 {
			addr--
		}
		if m := find(w.kernel, addr); m != nil && m.file != "" {
			frames = append(frames, fmt.Sprintf("%s %#x", m.file, addr))
		} else {
			frames = append(frames, fmt.Sprintf("kernel? %#x", addr))
		}
	}
	for i, addr := range s.user {
		if i > 0 {
			addr--
		}
		m := find(w.maps[s.pid], addr)
		if m == nil && i == 0 && len(s.kernel) > 0 {
			m = find(w.before[s.pid], addr)
		}
		switch {
		case m == nil:
			frames = append(frames, fmt.Sprintf("? %#x", addr))
		case m.file == "//anon":
			frames = append(frames, fmt.Sprintf("//anon(%d) %#x", m.pid, addr))
		default:
			frames = append(frames, fmt.Sprintf("%s+%#x", m.file, addr-m.start+m.off))
		}
	}
	return strings.Join(frames, " < ")
}

// generator makes up what happens on a machine with few numbers for tasks, so
// that they are used again and again.
type generator struct {
	*rand.Rand
	now uint64
	hs  []happening
}

const (
	modelTasks = 9
	modelCPUs  = 3
	modelPages = 12
)

func (g *generator) task() int { return 1 + g.IntN(modelTasks) }

func (g *generator) addr() uint64 { return 0x1000 * uint64(1+g.IntN(modelPages)) }

func (g *generator) emit(do func(*world), format string, args ...any) {
	t := g.now
	if do != nil && g.now < 50 && g.IntN(2) == 0 {
		t = 0 // made up by the recorder at its start
	}
	g.hs = append(g.hs, happening{time: t, cpu: g.IntN(modelCPUs), do: do, text: fmt.Sprintf(format, args...) + fmt.Sprintf(" t=%d", t)})
}

func (g *generator) step() {
	g.now += uint64(1 + g.IntN(5))
	pid, tid := g.task(), g.task()
	switch g.IntN(12) {
	case 0: // a new process
		parent, thread := g.task(), g.task()
		h := len(g.hs)
		g.emit(func(w *world) {
			w.maps[pid] = slices.Clone(w.maps[parent])
			delete(w.before, pid)
			w.rename(pid, thread)
		}, "fork pid=%d ppid=%d ptid=%d", pid, parent, thread)
		if pid == parent {
			g.hs[h].do = func(w *world) { w.rename(pid, thread) }
		}
		if g.hs[h].time == 0 { // as of a time 0 that is still going on: not a fork that can be
			g.hs = g.hs[:h]
		}
	case 1: // a new thread
		g.emit(func(w *world) { w.rename(tid, pid) }, "fork pid=%d ppid=%d tid=%d ptid=%d", pid, pid, tid, pid)
		if h := len(g.hs) - 1; g.hs[h].time == 0 {
			g.hs = g.hs[:h]
		}
	case 2:
		name := fmt.Sprintf("n%d", g.IntN(100))
		g.emit(func(w *world) { w.names[tid] = name }, "comm pid=%d tid=%d comm=%s", pid, tid, name)
	case 3:
		name := fmt.Sprintf("x%d", g.IntN(100))
		g.emit(func(w *world) {
			w.names[pid] = name
			w.before[pid] = w.maps[pid]
			delete(w.maps, pid)
		}, "comm pid=%d tid=%d comm=%s exec", pid, pid, name)
	case 4:
		g.emit(func(*world) {}, "exit pid=%d tid=%d", pid, tid)
	case 5:
		m := modelMap{start: 0xffffffffc0000000 + g.addr(), file: fmt.Sprintf("bpf%d", g.IntN(50))}
		size, what := uint64(1+g.IntN(3))*0x1000, ""
		m.end = m.start + size
		if g.IntN(3) == 0 {
			m.file, what = "", "unregister"
		}
		g.emit(func(w *world) { w.kernel = append(w.kernel, m) }, "ksymbol addr=%#x len=%#x name=%s %s", m.start, size, cmp.Or(m.file, "gone"), what)
	case 6, 7, 8:
		m := modelMap{start: g.addr(), off: uint64(g.IntN(4)) * 0x1000, file: fmt.Sprintf("/f%d", g.IntN(30)), pid: pid}
		if g.IntN(5) == 0 {
			m.file = "//anon"
		}
		size := uint64(1+g.IntN(5)) * 0x1000
		m.end = m.start + size
		g.emit(func(w *world) { w.maps[pid] = append(w.maps[pid], m) }, "mmap pid=%d tid=%d addr=%#x len=%#x off=%#x file=%s", pid, tid, m.start, size, m.off, m.file)
	default:
		g.sample(pid, tid)
	}
}

func (w *world) rename(tid, from int) {
	if name, ok := w.names[from]; ok {
		w.names[tid] = name
	} else {
		delete(w.names, tid)
	}
}

func (g *generator) sample(pid, tid int) {
	s := &modelSample{pid: pid, tid: tid}
	var chain strings.Builder
	if g.IntN(2) == 0 {
		chain.WriteString(" kernel")
		for range 1 + g.IntN(2) {
			s.kernel = append(s.kernel, 0xffffffffc0000000+g.addr()+uint64(g.IntN(3)))
			fmt.Fprintf(&chain, " %#x", s.kernel[len(s.kernel)-1])
		}
	}
	chain.WriteString(" user")
	for range 1 + g.IntN(4) {
		s.user = append(s.user, g.addr()+uint64(g.IntN(3)))
		fmt.Fprintf(&chain, " %#x", s.user[len(s.user)-1])
	}
	g.emit(nil, "sample pid=%d tid=%d cpu=0%s", pid, tid, chain.String())
	g.hs[len(g.hs)-1].sample = s
}

// deliver orders happenings as the rings of several CPUs would, drained one after
// the other in rounds. A record may be written a little later than its time says.
// The number of rounds comes back in ends, as indices.
func (g *generator) deliver() (hs []happening, ends []int) {
	const interval, stagger, jitter = 60, 5, 6
	written := func(h *happening) uint64 { return h.time + h.place }
	hs = slices.Clone(g.hs)
	wall := uint64(0)
	for i := range hs {
		h := &hs[i]
		if h.time == 0 {
			h.place = wall
		} else {
			wall = h.time
			h.place = uint64(g.IntN(jitter))
		}
	}
	round := func(h *happening) uint64 { // the first drain of its CPU after it was written
		at, first := written(h), uint64(h.cpu)*stagger
		if at < first {
			return 0
		}
		return (at-first)/interval + 1
	}
	slices.SortStableFunc(hs, func(a, b happening) int {
		return cmp.Or(cmp.Compare(round(&a), round(&b)), cmp.Compare(a.cpu, b.cpu), cmp.Compare(written(&a), written(&b)))
	})
	for i := 1; i < len(hs); i++ {
		for n := round(&hs[i-1]); n < round(&hs[i]); n++ {
			ends = append(ends, i)
		}
	}
	return hs, ends
}

func modelText(hs []happening, ends []int) string {
	var b strings.Builder
	b.WriteString("event cpu-clock type=software config=0\n")
	for i, h := range hs {
		for len(ends) > 0 && ends[0] == i {
			b.WriteString("round\n")
			ends = ends[1:]
		}
		b.WriteString(h.text + "\n")
	}
	return b.String()
}

// rows leaves out what the model does not count.
func rowsOf(d string) string {
	i := strings.Index(d, "unmapped frames")
	if i < 0 {
		return d
	}
	return d[:i]
}

// TestModel compares made-up recordings with a model that sorts everything by
// time and copies all state.
func TestModel(t *testing.T) {
	n := 120
	if testing.Short() {
		n = 30
	}
	for seed := range n {
		g := &generator{Rand: rand.New(rand.NewPCG(uint64(seed), 1))}
		for range 400 {
			g.step()
		}
		hs, ends := g.deliver()
		text := modelText(hs, ends)
		rec := perftext.MustParse(text)
		// The expectation goes by the order of the file where times are equal.
		want := modelDump(hs)
		for _, f := range []form{
			{Form: perftext.Form{Order: abi.BigEndian}},
			{Form: perftext.Form{Pipe: true, Zstd: abi.RecordCompressed2, Chunk: 1000}},
			{Form: perftext.Form{Pipe: true}, stream: true},
			{live: true},
		} {
			got := rowsOf(dump(f.convert(rec, Options{})))
			if got != want {
				t.Fatalf("seed %d, %v:\n%s", seed, f, firstDifference(got, want))
			}
		}
		if got := rowsOf(modelTight(t, rec)); got != want {
			t.Fatalf("seed %d, tight limits:\n%s", seed, firstDifference(got, want))
		}
		// In a file no order matters.
		g.Shuffle(len(hs), func(i, j int) { hs[i], hs[j] = hs[j], hs[i] })
		want = modelDump(hs)
		got := rowsOf(dump(form{}.convert(perftext.MustParse(modelText(hs, nil)), Options{})))
		if got != want {
			t.Fatalf("seed %d, shuffled:\n%s", seed, firstDifference(got, want))
		}
	}
}

// modelTight converts a recording live, with as little kept of the past as can be.
func modelTight(t *testing.T, rec *perftext.Recording) string {
	tl := timeline.New(timeline.Options{Forget: true, Areas: 1, Ancestors: 2})
	c := newCollector(tl, perfdata.NewEventSet(abi.LittleEndian, rec.Events), Options{})
	for _, b := range rec.Records(abi.LittleEndian) {
		if err := c.Write(b, nil); err != nil {
			t.Fatal(err)
		}
		c.stream.EndRound()
	}
	return dump(c.Finish())
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			return fmt.Sprintf("line %d\ngot  %s\nwant %s", i+1, g[i], append(w, "nothing")[min(i, len(w))])
		}
	}
	return "got ends before\nwant " + w[len(g)]
}
