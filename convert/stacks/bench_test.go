package stacks

import (
	"runtime"
	"testing"
)

// BenchmarkBuild makes a Set of 700,000 distinct stacks of 30 frames, as diverse
// as recordings get. B/op counts every table's growth; live-MB is what stays.
func BenchmarkBuild(b *testing.B) {
	_, chains := fill(700_000, 30)
	var before, after runtime.MemStats
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		runtime.GC()
		runtime.ReadMemStats(&before)
		b.StartTimer()
		s := New(Event{Name: "cpu-clock", Values: countAndTime})
		for i, c := range chains {
			s.Add(0, s.Intern(c), LabelsID(i&7), 1, 100)
		}
		b.StopTimer()
		runtime.GC()
		runtime.ReadMemStats(&after)
		if s.NumStacks() != len(chains) {
			b.Fatalf("%d stacks", s.NumStacks())
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "live-MB")
}

func BenchmarkInternKnown(b *testing.B) {
	s, chains := fill(100_000, 30)
	for _, c := range chains {
		s.Intern(c)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		s.Intern(chains[i])
		if i++; i == len(chains) {
			i = 0
		}
	}
}

func BenchmarkAddKnown(b *testing.B) {
	s, chains := fill(100_000, 30)
	for _, c := range chains {
		s.Add(0, s.Intern(c), 0, 1, 100)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		s.Add(0, StackID(i), 0, 1, 100)
		if i++; i == len(chains) {
			i = 0
		}
	}
}

func BenchmarkInternLabelsKnown(b *testing.B) {
	s := New()
	l := []Label{{Key: "comm", Str: "bash"}, {Key: "pid", Num: 1234}}
	b.ReportAllocs()
	for b.Loop() {
		s.InternLabels(l)
	}
}
