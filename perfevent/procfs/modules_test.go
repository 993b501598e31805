package procfs

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/memtest"
	"kprof/perfevent/procfs/procfstest"
)

func TestReadModules(t *testing.T) {
	want := []Module{
		{"fuse", 176128, 0xffffffffc0a00000, 176128}, {"nf_nat", 53248, 0xffffffffc0900000, 53248}, {"hidden", 4096, 0, 4096},
		{"blanks", 4096, 0xffffffffc0800000, 4096}, {"last", 12288, 0xffffffffc0600000, 12288},
	}
	got, err := ReadModules(iotest.HalfReader(strings.NewReader(procfstest.Modules)))
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	var format *FormatError
	if !errors.As(err, &format) || format.Offset != procfstest.MalformedModule || err.Error() != "malformed modules line at byte 196" {
		t.Error(err)
	}
	long := "long 4096 2 " + strings.Repeat("user,", 2000) + " Live 0xffffffffc0500000\n"
	if got, err := ReadModules(strings.NewReader(long)); err != nil || len(got) != 1 || got[0].Name != "long" {
		t.Errorf("%v, %v", got, err)
	}
	broken := errors.New("broken")
	if got, err := ReadModules(iotest.TimeoutReader(iotest.ErrReader(broken))); !errors.Is(err, broken) || got != nil {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := ReadModules(strings.NewReader("")); err != nil || got != nil {
		t.Errorf("%v, %v", got, err)
	}
}

// TestTextSizes: of modules whose sizes reach beyond the next one's start, as since Linux 6.4.
func TestTextSizes(t *testing.T) {
	var text strings.Builder
	want := map[string]uint64{}
	for _, m := range []Module{
		{"last", 0x8000, 0xc000, 0x8000}, {"hidden", 0x1000, 0, 0x1000}, {"long", 0x7000, 0x1000, 0x3000}, {"same", 0x3000, 0xa000, 0x2000},
		{"short", 0x1000, 0x4000, 0x1000}, {"place", 0x1000, 0xa000, 0x1000}, {"end", 0x3000, math.MaxUint64 - 0xfff, 0xfff},
	} {
		fmt.Fprintf(&text, "%s %d 0 - Live %#016x\n", m.Name, m.Size, m.Addr)
		want[m.Name] = m.TextSize
	}
	modules, err := ReadModules(strings.NewReader(text.String()))
	got := map[string]uint64{}
	for _, m := range modules {
		got[m.Name] = m.TextSize
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v, -want +got\n%s", err, d)
	}
}

func FuzzReadModules(f *testing.F) {
	f.Add([]byte("fuse 176128 1 - Live 0xffffffffc0a00000\nnf_nat 53248 2 a,b, Live 0xffffffffc0900000 (OE)\n\nx"))
	f.Fuzz(func(t *testing.T, in []byte) {
		defer memtest.Within(t, 1<<20+100*len(in))()
		modules, err := ReadModules(bytes.NewReader(in))
		lines := bytes.Count(in, []byte("\n"))
		if len(in) > 0 && in[len(in)-1] != '\n' {
			lines++
		}
		if (err == nil) != (len(modules) == lines) {
			t.Fatalf("%d modules in %d lines, error %v", len(modules), lines, err)
		}
		var starts []uint64
		for _, m := range modules {
			if m.Name == "" || strings.ContainsAny(m.Name, " \t\n") {
				t.Fatalf("%+v", m)
			}
			starts = append(starts, m.Addr)
		}
		slices.Sort(starts)
		for _, m := range modules {
			next, _ := slices.BinarySearch(starts, m.Addr+1)
			if m.TextSize > m.Size || m.Addr != math.MaxUint64 && next < len(starts) && starts[next]-m.Addr < m.TextSize {
				t.Fatalf("%+v reaches into another", m)
			}
		}
	})
}
