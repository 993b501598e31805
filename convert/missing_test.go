package convert

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"kprof/convert/naming"
	"kprof/convert/stacks"
	"kprof/perfevent/livetest"
	"kprof/symbolize"
)

// TestReason: what is said fits where the recording was made, and what was brought.
func TestMissingReason(t *testing.T) {
	livetest.UseMachine(t) // which may hide the kernel's symbols
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const id = "0123456789abcdef0123456789abcdef01234567"
	for _, test := range []struct {
		opts symbolize.Options
		m    symbolize.Mapping
		why  MissingReason
		want string
	}{
		{symbolize.Options{}, symbolize.Mapping{Kind: stacks.KindUser, File: "/no/such/file"}, ReasonFileGone, "the file is not there any more"},
		{symbolize.Options{}, symbolize.Mapping{Kind: stacks.KindAnon, File: "//toolong", PID: 1 << 30}, ReasonLongPath, "files whose paths are longer than the kernel says"},
		{symbolize.Options{}, symbolize.Mapping{Kind: stacks.KindAnon, File: "//anon", PID: 1 << 30},
			ReasonRuntimeCode, "code made at run time, and the process left no perf-PID.map and no jitdump"},
		{symbolize.Options{Foreign: true}, symbolize.Mapping{Kind: stacks.KindUser, File: "/no/such/file", BuildID: id},
			ReasonForeignFile, "recorded on another machine or boot"},
		{symbolize.Options{Foreign: true}, symbolize.Mapping{Kind: stacks.KindUser, File: program, BuildID: id},
			ReasonForeignFile, "recorded on another machine or boot"},
		{symbolize.Options{Foreign: true, Root: t.TempDir()}, symbolize.Mapping{Kind: stacks.KindUser, File: "/no/such/file", BuildID: id},
			ReasonNotInRoot, "not among the recorded machine's files"},
		{symbolize.Options{Foreign: true}, symbolize.Mapping{Kind: stacks.KindKernel, File: "[kernel.kallsyms]", BuildID: id},
			ReasonForeignKernel, "recorded on another machine or boot, and does not bring its symbols"},
		{symbolize.Options{Foreign: true, Unplaced: true}, symbolize.Mapping{Kind: stacks.KindKernel, File: "[kernel.kallsyms]"},
			ReasonForeignKernel, "recorded on a machine that it does not name, and does not bring its symbols"},
		{symbolize.Options{Foreign: true, Unplaced: true}, symbolize.Mapping{Kind: stacks.KindUser, File: "/no/such/file", BuildID: id},
			ReasonForeignFile, "recorded on a machine that it does not name"},
		{symbolize.Options{Foreign: true, Unplaced: true}, symbolize.Mapping{Kind: stacks.KindUser, File: program},
			ReasonError, "recorded on a machine that it does not name, and without a build id"},
	} {
		s := symbolize.New(test.opts)
		_, err := s.Resolve(t.Context(), test.m, []uint64{0x1000})
		if got := missingReason(&naming.Missing{Err: err}); got != test.why || reasonText(got, err) != test.want {
			t.Errorf("%+v, %+v: %d %q (%v), want %d %q", test.opts, test.m, got, reasonText(got, err), err, test.why, test.want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestMissingInlined: what may lack inlined functions is told with the share of samples that
// have lines there.
func TestMissingInlined(t *testing.T) {
	set := stacks.New(stacks.Event{Name: "cycles", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	m := set.AddMapping(stacks.Mapping{File: "/bin/x"})
	lined, named := set.AddLocation(m, 1, 0), set.AddLocation(m, 2, 0)
	set.SetLines(lined, stacks.Line{Function: set.AddFunction(stacks.Function{Name: "f", File: "f.c"})})
	set.SetLines(named, stacks.Line{Function: set.AddFunction(stacks.Function{Name: "g"})})
	set.Add(0, set.Intern([]uint32{lined, named}), 0, 1)
	set.Add(0, set.Intern([]uint32{named}), 0, 3)
	p := &Profile{Set: set, opts: &Options{}}
	p.addMissing([]naming.Missing{{Mapping: int(m), Inlined: errors.New("elsewhere")}})
	const want = "25.0% of samples have frames in /bin/x, of which inlined functions may be missing: elsewhere"
	if len(p.Warnings) != 1 || p.Warnings[0].String() != want || !slices.Contains(set.Comments, want) {
		t.Errorf("%v, %q; want %q", p.Warnings, set.Comments, want)
	}
}

// TestUnplaced: a recording that ended before its header was complete does not say of which
// machine it is, and is not said to be of another one.
func TestUnplaced(t *testing.T) {
	b, err := os.ReadFile("../testdata/demo.data")
	if err != nil {
		t.Fatal(err)
	}
	// struct perf_file_header: the data section stands at 40. The features are behind the data.
	end := binary.LittleEndian.Uint64(b[40:]) + binary.LittleEndian.Uint64(b[48:])
	for _, test := range []struct {
		b        []byte
		unplaced bool
	}{{b, false}, {b[:end], true}} {
		name := filepath.Join(t.TempDir(), "x.data")
		livetest.WriteFile(t, name, test.b)
		p, err := Open(t.Context(), name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, w := range p.Warnings {
			if w.Kind != MissingNames || !errors.Is(w.Err, symbolize.ErrForeign) {
				continue
			}
			n++
			if errors.Is(w.Err, symbolize.ErrUnplaced) != test.unplaced {
				t.Errorf("unplaced %v: %v", test.unplaced, w.Err)
			}
		}
		if n == 0 {
			t.Errorf("unplaced %v: no names are missing: %v", test.unplaced, p.Warnings)
		}
	}
}
