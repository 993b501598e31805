package convert

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
)

// TestWantsCallFrames: of which recordings the call frame information of files is read.
func TestWantsCallFrames(t *testing.T) {
	const chain, regs, copies = abi.SampleCallchain, abi.SampleRegsUser, abi.SampleStackUser
	for _, c := range []struct {
		arch string
		typ  abi.SampleType
		mask uint64
		want bool
	}{
		{"x86_64", chain, 0, false},
		{"x86_64", chain | regs | copies, 0xff0fff, true},
		{"x86_64", chain | regs, 1 << 30, false},
		{"aarch64", chain, 0, false},
		{"aarch64", chain | regs, 1 << 30, true}, // perf record -g
		{"aarch64", regs, 1 << 30, false},
		{"aarch64", chain | regs, 1 << 3, false},
	} {
		in := recordingInput{Reader: &perfdata.Reader{Events: perfdata.NewEventSet(abi.LittleEndian, []abi.Event{{Attr: abi.Attr{SampleType: c.typ, SampleRegsUser: c.mask}}})}}
		in.Features.Arch = c.arch
		if got := in.wantsCallFrames(); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestWallTime: a recording that says what its clock was at a moment says when it began, whenever its
// file was written.
func TestWallTime(t *testing.T) {
	const wall, second = 1_700_000_000_000_000_000, 1_000_000_000
	mono := func(at uint64) perfdata.Clock { return perfdata.Clock{ID: 1, Wall: wall, Time: at} }
	modified := time.Unix(1_800_000_000, 0)
	for name, c := range map[string]struct {
		clock    perfdata.Clock
		realTime bool
		first    uint64 // of two samples, a second apart
		from     uint64
		want     int64
	}{
		"no clock":        {first: 5 * second, want: modified.UnixNano() - second},
		"read before":     {clock: mono(4 * second), first: 5 * second, want: wall + second},
		"read afterwards": {clock: mono(7 * second), first: 5 * second, want: wall - 2*second},
		"of a part":       {clock: mono(4 * second), first: 5 * second, from: 5*second + 1, want: wall + 2*second},
		"real time":       {realTime: true, first: wall, want: wall},
	} {
		rec := perftext.MustParse(fmt.Sprintf("event cpu-clock type=software config=0 sample=ip,tid,time flags=sample_id_all\n"+
			"sample t=%d pid=7 ip=0x10\nsample t=%d pid=7 ip=0x10\n", c.first, c.first+second))
		rec.Features.Clock = c.clock
		if c.realTime {
			rec.Events[0].Attr.Flags |= abi.FlagUseClockID // of the clock 0
		}
		b, err := rec.Assemble(perftext.Form{})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "x.data")
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, modified, modified); err != nil {
			t.Fatal(err)
		}
		o := Options{Unnamed: true}
		if c.from > 0 {
			o.Time.From = TimeBound{Given: true, Nanos: c.from}
		}
		p, err := Open(t.Context(), file, o)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Set.TimeNanos; got != c.want {
			t.Errorf("%s: begins at %d, want %d", name, got, c.want)
		}
	}
}

// TestCopiedKernelSymbols: the directory of perf record --kcore brings the names of its kernel.
func TestCopiedKernelSymbols(t *testing.T) {
	b, err := perftext.MustParse(`event cpu-clock type=software config=0
mmap t=1 pid=-1 addr=0xffffffff81000000 len=0x1000000 off=0xffffffff81000000 file=[kernel.kallsyms]_text
comm t=1 pid=7 comm=x
sample t=2 pid=7 kernel 0xffffffff81000110
`).Assemble(perftext.Form{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	livetest.WriteFile(t, filepath.Join(dir, "data"), b)
	if err := os.Mkdir(filepath.Join(dir, "kcore_dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	livetest.WriteFile(t, filepath.Join(dir, "kcore_dir", "kallsyms"),
		"ffffffff81000000 T _text\nffffffff81000100 T kfun\nffffffff81000200 T after\n")
	p, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range p.Set.Functions {
		names = append(names, f.Name)
	}
	if !slices.Equal(names, []string{"kfun"}) || len(p.Warnings) > 0 {
		t.Errorf("functions %q, warnings %v", names, p.Warnings)
	}
}
