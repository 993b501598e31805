package doctor

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"kprof/perfevent"
)

// TestRemedy: a refusal is answered with one command for root; other errors, and what
// nothing on this machine changes, with none.
func TestRemedy(t *testing.T) {
	denied := func(e perfevent.PermissionError) error { return fmt.Errorf("open cpu-clock: %w", &e) }
	for _, c := range []struct {
		name string
		err  error
		want []string // in this order; none for no remedy
	}{
		{"no refusal", errors.New("no such event"), nil},
		{"seccomp", denied(perfevent.PermissionError{Environment: "a seccomp filter", Level: 1}), nil},
		{"level", denied(perfevent.PermissionError{Level: 1}), []string{"as root: sysctl kernel.perf_event_paranoid=1"}},
		{"capability", denied(perfevent.PermissionError{Level: perfevent.NoLevel, Capabilities: []string{"CAP_PERFMON"}}),
			[]string{"as root: setcap cap_perfmon,cap_syslog,cap_sys_ptrace=ep "}},
		{"capability twice", denied(perfevent.PermissionError{Level: perfevent.NoLevel, Capabilities: []string{"CAP_SYS_ADMIN", "CAP_SYSLOG"}}),
			[]string{"as root: setcap cap_sys_admin,cap_syslog,cap_sys_ptrace=ep "}},
		{"level and capability", denied(perfevent.PermissionError{Level: perfevent.NoLevel, Lower: true, Capabilities: []string{"CAP_PERFMON"}}),
			[]string{fmt.Sprintf("sysctl kernel.perf_event_paranoid=%d && ", perfevent.MostLevel), "setcap cap_perfmon"}},
		{"unmounted", denied(perfevent.PermissionError{Level: perfevent.NoLevel, Unmounted: true, Capabilities: []string{"CAP_PERFMON"}}),
			[]string{"mount -t tracefs tracefs /sys/kernel/tracing && ", "setcap cap_perfmon"}},
	} {
		got := Remedy(c.err)
		if c.want == nil && got != "" {
			t.Errorf("%s: %q", c.name, got)
		}
		rest := got
		for _, part := range c.want {
			_, after, found := strings.Cut(rest, part)
			if !found {
				t.Errorf("%s: %q has no %q where it belongs", c.name, got, part)
			}
			rest = after
		}
	}
}

// TestShellWord: a shell takes what is quoted for the one word that it was.
func TestShellWord(t *testing.T) {
	for _, s := range []string{"", "/usr/bin/kprof", "a b", "it's", "$HOME", "`id`", "a\nb", "*", "ä", `\`} {
		out, err := exec.Command("sh", "-c", "printf %s "+shellWord(s)).Output()
		if err != nil || string(out) != s {
			t.Errorf("%q becomes %q: %v", s, out, err)
		}
	}
}
