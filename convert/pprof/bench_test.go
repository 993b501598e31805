package pprof

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"kprof/convert/stacks"
)

// The Set of these benchmarks has as many distinct stacks as the most diverse
// recording measured for the design, and no more in common.
const (
	benchStacks    = 680_000
	benchDepth     = 30
	benchLocations = 50_000
)

func BenchmarkWrite(b *testing.B) {
	s := wide(benchStacks, benchDepth, benchLocations)
	b.ReportAllocs()
	for b.Loop() {
		if err := Write(io.Discard, s, WriteOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAgainstProfile writes the same Set through Write and by building a
// profile.Profile, and reports how many times faster Write is.
func BenchmarkAgainstProfile(b *testing.B) {
	s := wide(benchStacks, benchDepth, benchLocations)
	var ours, build, write time.Duration
	for b.Loop() {
		t0 := time.Now()
		if err := Write(io.Discard, s, WriteOptions{}); err != nil {
			b.Fatal(err)
		}
		t1 := time.Now()
		p := toProfile(s)
		t2 := time.Now()
		if err := p.Write(io.Discard); err != nil {
			b.Fatal(err)
		}
		ours += t1.Sub(t0)
		build += t2.Sub(t1)
		write += time.Since(t2)
	}
	b.ReportMetric(float64(build)/float64(ours), "build/Write")
	b.ReportMetric(float64(build+write)/float64(ours), "build+write/Write")
}

func BenchmarkRead(b *testing.B) {
	var data bytes.Buffer
	if err := Write(&data, wide(benchStacks/10, benchDepth, benchLocations), WriteOptions{}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(bytes.NewReader(data.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
}

// toProfile is what Write avoids.
func toProfile(s *stacks.Set) *profile.Profile {
	p := &profile.Profile{}
	for _, v := range s.Events[0].Values {
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: v.Type, Unit: v.Unit})
	}
	for i, m := range s.Mappings {
		p.Mapping = append(p.Mapping, &profile.Mapping{ID: uint64(i + 1), Start: m.Start, Limit: m.Limit, File: m.File, BuildID: m.BuildID, HasFunctions: true})
	}
	for i, f := range s.Functions {
		p.Function = append(p.Function, &profile.Function{ID: uint64(i + 1), Name: f.Name, SystemName: f.SystemName})
	}
	for i, l := range s.Locations {
		x := &profile.Location{ID: uint64(i + 1), Mapping: p.Mapping[l.Mapping], Address: l.Addr}
		for _, y := range s.Lines(uint32(i)) {
			x.Line = append(x.Line, profile.Line{Function: p.Function[y.Function]})
		}
		p.Location = append(p.Location, x)
	}
	type labels struct {
		str map[string][]string
		num map[string][]int64
	}
	sets := make([]labels, s.NumLabels()) // shared, which is already kinder than usual
	for i := range sets {
		sets[i] = labels{map[string][]string{}, map[string][]int64{}}
		for _, l := range s.Labels(stacks.LabelsID(i)) {
			if l.Str != "" {
				sets[i].str[l.Key] = []string{l.Str}
			} else {
				sets[i].num[l.Key] = []int64{l.Num}
			}
		}
	}
	for i := range s.NumSamples() {
		x := s.Sample(i)
		locs := make([]*profile.Location, 0, benchDepth)
		for _, l := range s.Stack(x.Stack) {
			locs = append(locs, p.Location[l])
		}
		p.Sample = append(p.Sample, &profile.Sample{Location: locs, Value: x.Values, Label: sets[x.Labels].str, NumLabel: sets[x.Labels].num})
	}
	return p
}
