//go:build linux

package perfevent

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kprof/perfevent/abi"
)

// TestExplainAbsent: of a machine without hardware PMU it is said, for who asks by errors.Is too.
func TestExplainAbsent(t *testing.T) {
	for _, tt := range []struct {
		typ       abi.Type
		supported bool
	}{{abi.TypeHardware, false}, {abi.TypeTracepoint, true}} {
		err := Explain(unix.ENOENT, &Event{Attr: abi.Attr{Type: tt.typ}}, Where{})
		if errors.Is(err, ErrNotSupported) == tt.supported || !errors.Is(err, unix.ENOENT) || !errors.Is(err, os.ErrNotExist) {
			t.Errorf("type %d: %v, ErrNotSupported %v", tt.typ, err, errors.Is(err, ErrNotSupported))
		}
	}
}

// TestExplainPrecision: a CPU that samples less precisely than asked for does sample
// (x86_pmu_hw_config in arch/x86/events/core.c).
func TestExplainPrecision(t *testing.T) {
	for precise, want := range map[int]string{0: "counts but cannot sample", 2: "no precision 2"} {
		e := Event{Name: "cycles", Attr: abi.Attr{Type: abi.TypeHardware, SamplePeriod: 1, Flags: abi.Flags(0).WithPrecise(precise)}}
		if err := Explain(unix.EOPNOTSUPP, &e, Where{CPU: 0}); !strings.Contains(err.Error(), want) {
			t.Errorf("precision %d: %v, want %q", precise, err, want)
		}
	}
}
