//go:build 386 || arm

package symbolize

import (
	"errors"
	"testing"

	"kprof/symbolize/mapping"
)

// TestWideVDSO: that of a program of 64 bits is not named by ours of 32.
func TestWideVDSO(t *testing.T) {
	s := New(Options{})
	defer s.Close()
	got, err := names(t, s, Mapping{Kind: mapping.VDSO, File: "[vdso]", Start: 0x7ffff7fc1000, Limit: 0x7ffff7fc3000}, 0xb7c)
	if got[0] != "" || !errors.Is(err, errWideVDSO) {
		t.Errorf("%q, %v", got[0], err)
	}
}
