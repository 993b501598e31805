//go:build linux

package perfevent

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kprof/perfevent/abi"
)

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
