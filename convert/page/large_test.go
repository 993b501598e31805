package page

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"kprof/convert/browsertest"
	"kprof/convert/stacks"
)

// largeSet has n stacks, most of them different, as walks through a graph of calls: every
// function calls few others, some much more often. They are of threads of comms, in the order
// of time over an hour.
func largeSet(n, threads int, timed bool) *stacks.Set {
	r := rand.New(rand.NewPCG(9, 9))
	const functions = 6000
	s := stacks.New(stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}})
	user := s.AddMapping(stacks.Mapping{File: "/usr/bin/server", Kind: stacks.KindUser, BuildID: "0123456789abcdef0123456789abcdef01234567"})
	kernel := s.AddMapping(stacks.Mapping{File: "[kernel.kallsyms]", Kind: stacks.KindKernel})
	locs := make([]uint32, functions)
	for i := range locs {
		m, kind := user, stacks.KindUser
		if i > functions*2/3 {
			m, kind = kernel, stacks.KindKernel
		}
		locs[i] = s.AddLocation(m, uint64(i), kind)
		s.SetLines(locs[i], stacks.Line{Function: s.AddFunction(stacks.Function{Name: fmt.Sprintf("subsystem_%d_function_%d", i%40, i), File: fmt.Sprintf("src/file%d.c", i%300)})})
	}
	labels := make([]stacks.LabelsID, threads)
	for i := range labels {
		labels[i] = s.InternLabels([]stacks.Label{{Key: "comm", Str: fmt.Sprintf("worker%d", i%20)}, {Key: "pid", Num: int64(i / 10)}, {Key: "tid", Num: int64(i)}, {Key: "cpu", Num: int64(i % 64)}})
	}
	var stack []uint32
	for i := range n {
		f := r.IntN(4)
		stack = append(stack[:0], locs[f])
		for d := 4 + r.IntN(28); d > 0; d-- {
			f = (f*31 + 7 + int(4*r.Float64()*r.Float64())*811) % functions
			stack = append(stack, locs[f])
		}
		for a, b := 0, len(stack)-1; a < b; a, b = a+1, b-1 {
			stack[a], stack[b] = stack[b], stack[a]
		}
		row := s.Add(0, s.Intern(stack), labels[int(float64(threads)*r.Float64()*r.Float64())], 1, 10_000_000)
		if timed {
			s.AddTimedSample(stacks.TimedSample{Time: 1e12 + uint64(i)*3600e9/uint64(n), Sample: uint32(row), Value: 10_000_000})
		}
	}
	return s
}

// BenchmarkLarge says how large pages of large profiles are, and how long the browser's
// thread is busy with them, in ms of CPU time: to open them, and with what a reader does.
func BenchmarkLarge(b *testing.B) {
	for _, x := range []struct {
		name       string
		n, threads int
		timed      bool
	}{{"stacks", 1_000_000, 300, false}, {"hour", 1_000_000, 1000, true}} {
		b.Run(x.name, func(b *testing.B) {
			file := filepath.Join(b.TempDir(), "page.html")
			f, err := os.Create(file)
			if err != nil {
				b.Fatal(err)
			}
			s := largeSet(x.n, x.threads, x.timed)
			if err := Write(f, s, Options{Column: 1}); err != nil {
				b.Fatal(err)
			}
			st, _ := f.Stat()
			if err := f.Close(); err != nil {
				b.Fatal(err)
			}
			b.Logf("%d stacks", s.NumStacks())
			for b.Loop() {
				look(b, file, x.timed)
			}
			b.ReportMetric(float64(st.Size())/1e6, "MB")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func look(b *testing.B, file string, timed bool) {
	p := browsertest.Open(b, "about:blank", browsertest.View{})
	before := p.Busy()
	longest := p.Longest(func() {
		p.Go(browsertest.FileURL(b, file))
		p.Wait("window.kprof")
		settle(p)
		p.Wait("!kprof.background.work")
	})
	b.ReportMetric(float64((p.Busy() - before).Milliseconds()), "ms-open")
	b.ReportMetric(float64(longest.Milliseconds()), "ms-longest-open")
	b.Logf("%d nodes", browsertest.Eval[int](p, "kprof.p.head.nodes"))
	for _, act := range actsOf(timed) {
		before = p.Busy()
		longest := p.Longest(func() {
			p.Do(act[1])
			settle(p)
			p.Wait("!kprof.background.work")
		})
		b.ReportMetric(float64((p.Busy() - before).Milliseconds()), "ms-"+act[0])
		b.ReportMetric(float64(longest.Milliseconds()), "ms-longest-"+act[0])
	}
}

// actsOf are names of what a reader does with a page, and scripts that do it.
func actsOf(timed bool) [][2]string {
	acts := [][2]string{
		{"frame", "kprof.flame.draw()"},
		{"hover", "for (let i = 0; i < 10; i++) kprof.flame.pointerAt({offsetX: 100 + 40 * i, offsetY: kprof.flame.height - 60, clientX: 1, clientY: 1})"},
		{"zoom", "kprof.set({zoom: kprof.flame.layout.node[kprof.flame.layout.start[3]]})"},
		{"unzoom", "kprof.set({zoom: 0})"},
		{"search", "kprof.set({query: 'function_12'})"},
		{"unsearch", "kprof.set({query: ''})"},
		{"hide", "kprof.set({steps: [{op: 'hide', text: kprof.exactly(kprof.p.names[5])}]})"},
		{"focus", "kprof.set({steps: [{op: 'focus', text: kprof.exactly(kprof.p.names[5])}]})"},
		{"unstep", "kprof.set({steps: []})"},
		{"filter", "kprof.set({filter: new Map([[0, new Set([3])]])})"},
		{"unfilter", "kprof.set({filter: new Map()})"},
		{"inverted", "kprof.set({inverted: true})"},
		{"uninverted", "kprof.set({inverted: false})"},
		{"callers", "kprof.set({view: 'callers'})"},
		{"functions", "kprof.set({view: 'functions'})"},
		{"tree", "kprof.set({view: 'tree'})"},
		{"flame", "kprof.set({view: 'flame'})"},
		{"ungroup", "kprof.set({group: -1})"},
	}
	if timed {
		acts = append(acts, [2]string{"span", "kprof.set({span: [1e12, 2e12]})"}, [2]string{"span2", "kprof.set({span: [1e12, 1.5e12]})"},
			[2]string{"time", "kprof.set({span: null, view: 'time'})"}, [2]string{"heat", "kprof.set({view: 'heat'})"}, [2]string{"samples", "kprof.set({view: 'samples'})"})
	}
	acts = append(acts, [2]string{"save-folded", "await kprof.selectedStacks()"}, [2]string{"save-pprof", "await kprof.selectedProfile()"}, [2]string{"save-page", "await kprof.selectedPage()"})
	return acts
}
