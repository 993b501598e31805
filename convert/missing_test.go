package convert

import (
	"os"
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
