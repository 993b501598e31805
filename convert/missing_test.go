package convert

import (
	"errors"
	"os"
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
