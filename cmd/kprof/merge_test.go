//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gprofile "github.com/google/pprof/profile"

	"kprof/perfevent/livetest"
)

// TestMergeUnits: pprof profiles that are counted in different units add up as in go tool pprof, in
// the finest; and what is no sum is in columns that go tool pprof reads.
func TestMergeUnits(t *testing.T) {
	dir := t.TempDir()
	write := func(name, what, unit string, value int64) {
		f := &gprofile.Function{ID: 1, Name: "work"}
		l := &gprofile.Location{ID: 1, Address: 0x1000, Line: []gprofile.Line{{Function: f}}}
		p := &gprofile.Profile{
			SampleType: []*gprofile.ValueType{{Type: what, Unit: unit}},
			Sample:     []*gprofile.Sample{{Location: []*gprofile.Location{l}, Value: []int64{value}}},
			Function:   []*gprofile.Function{f}, Location: []*gprofile.Location{l},
		}
		var b strings.Builder
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
		livetest.WriteFile(t, filepath.Join(dir, name), b.String())
	}
	write("ns", "cpu", "nanoseconds", 5_000_000)
	write("us", "cpu", "microseconds", 7000)
	write("bytes", "heap", "bytes", 4096)
	write("kilobytes", "heap", "kilobytes", 3)
	write("count", "cpu", "count", 9)
	for _, c := range []struct{ inputs, want, said string }{
		{"ns us", "cpu/nanoseconds 12000000", "2 inputs, 1 different stack"},
		{"us ns", "cpu/nanoseconds 12000000", "2 inputs, 1 different stack"},
		{"us us", "cpu/microseconds 14000", "2 inputs, 1 different stack"},
		{"bytes kilobytes kilobytes", "heap/bytes 10240", "3 inputs, 1 different stack"},
		{"ns count", "cpu/nanoseconds 5000000 cpu.count/count 9", "2 inputs, 9 samples, 1 different stack"},
		{"ns bytes us", "cpu/nanoseconds 12000000 heap/bytes 4096", "3 inputs, 1 different stack"},
	} {
		_, said, code := outcome(t, dir, append([]string{"merge", "-o", "sum.pb.gz"}, strings.Fields(c.inputs)...)...)
		if code != 0 || said != "kprof: "+c.said+" in sum.pb.gz\n" {
			t.Errorf("%s: exit code %d, %s", c.inputs, code, said)
		}
		b, err := os.ReadFile(filepath.Join(dir, "sum.pb.gz"))
		if err != nil {
			t.Fatal(err)
		}
		p, err := gprofile.ParseData(b)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, v := range p.SampleType {
			var sum int64
			for _, s := range p.Sample {
				sum += s.Value[i]
			}
			got = append(got, v.Type+"/"+v.Unit, fmt.Sprint(sum))
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.inputs, got, c.want)
		}
		if err := gprofile.CompatibilizeSampleTypes([]*gprofile.Profile{p}); err != nil {
			t.Errorf("%s: go tool pprof: %v", c.inputs, err)
		}
	}
}
