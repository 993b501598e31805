package stackstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"kprof/convert/stacks"
	"kprof/perfevent/livetest"
)

// PprofTop is self and cumulative samples of every function, as go tool pprof -top
// has them.
func PprofTop(t *testing.T, s *stacks.Set) map[string][2]int64 {
	t.Helper()
	livetest.RequirePrograms(t, "go")
	file := filepath.Join(t.TempDir(), "x.pb")
	if err := os.WriteFile(file, marshal(t, s), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "tool", "pprof", "-top", "-sample_index=samples", "-nodefraction=0", "-nodecount=1000000", file)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return parseTop(t, string(out))
}

// parseTop reads the table of pprof -top.
func parseTop(t *testing.T, out string) map[string][2]int64 {
	m := map[string][2]int64{}
	_, table, ok := strings.Cut(out, "flat  flat%   sum%        cum   cum%\n")
	if !ok {
		t.Fatal(out)
	}
	for _, l := range strings.Split(strings.TrimSpace(table), "\n") {
		f := strings.Fields(l)
		self, err := strconv.ParseInt(f[0], 10, 64)
		cum, err2 := strconv.ParseInt(f[3], 10, 64)
		if err != nil || err2 != nil {
			t.Fatal(l)
		}
		m[strings.Join(f[5:], " ")] = [2]int64{self, cum}
	}
	return m
}

// marshal makes a profile of a Set by google/pprof's own means.
func marshal(t *testing.T, s *stacks.Set) []byte {
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}}
	for i, m := range s.Mappings {
		p.Mapping = append(p.Mapping, &profile.Mapping{ID: uint64(i + 1), Start: uint64(i) << 40, Limit: uint64(i+1) << 40, File: m.File, HasFunctions: true})
	}
	for i, f := range s.Functions {
		p.Function = append(p.Function, &profile.Function{ID: uint64(i + 1), Name: f.Name})
	}
	for i, l := range s.Locations {
		x := &profile.Location{ID: uint64(i + 1), Address: l.Addr}
		if l.Mapping >= 0 {
			x.Mapping = p.Mapping[l.Mapping]
			x.Address += x.Mapping.Start
		}
		for _, y := range s.Lines(uint32(i)) {
			x.Line = append(x.Line, profile.Line{Function: p.Function[y.Function]})
		}
		if len(x.Line) == 0 { // as kprof names it; pprof alone takes one pair of brackets
			f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: "[[vdso]]"}
			p.Function = append(p.Function, f)
			x.Line = append(x.Line, profile.Line{Function: f})
		}
		p.Location = append(p.Location, x)
	}
	for i := range s.NumSamples() {
		x := s.Sample(i)
		y := &profile.Sample{Value: x.Values}
		for _, l := range s.Stack(x.Stack) {
			y.Location = append(y.Location, p.Location[l])
		}
		p.Sample = append(p.Sample, y)
	}
	var b strings.Builder
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return []byte(b.String())
}

// ReadPprof reads the profile in a file as google/pprof does.
func ReadPprof(t testing.TB, name string) *profile.Profile {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
