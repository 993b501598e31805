package procfs

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/memtest"
	"kprof/perfevent/procfs/procfstest"
)

func TestReadModules(t *testing.T) {
	want := []Module{
		{"fuse", 176128, 0xffffffffc0a00000}, {"nf_nat", 53248, 0xffffffffc0900000}, {"hidden", 4096, 0},
		{"blanks", 4096, 0xffffffffc0800000}, {"last", 12288, 0xffffffffc0600000},
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
		for _, m := range modules {
			if m.Name == "" || strings.ContainsAny(m.Name, " \t\n") {
				t.Fatalf("%+v", m)
			}
		}
	})
}
