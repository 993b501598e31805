//go:build linux

package perfevent

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// What somebody may ask for.
var (
	clock, userMemory Request
	user              = Request{UserOnly: true}
	tracepoint        = Request{Class: ClassTracepoint}
	probe             = Request{Class: ClassProbe}
	arguments         = Request{Class: ClassTracefsProbe}
	uprobe            = Request{Class: ClassUserProbe}
	kernelMemory      = Request{Class: ClassKernelMemory}
)

// plain is a user without capabilities on a machine like most.
func plain(change func(*state)) *state {
	st := &state{paranoid: "2", bounds: ^Capabilities(0), errno: unix.EINVAL, mounted: true}
	if change != nil {
		change(st)
	}
	return st
}

// TestPermissionFor: what a whole recording needs is what the most demanding of its
// events and targets does, by perf-security.rst and the kernel's own checks.
func TestPermissionFor(t *testing.T) {
	perfmon := []string{"CAP_PERFMON"}
	readable := func(st *state) { st.readable = true }
	level := func(n string) func(*state) { return func(st *state) { st.paranoid = n } }
	for _, tt := range []struct {
		events []Request
		target Extent
		state  func(*state)
		level  int
		caps   []string
		lower  bool
	}{
		{[]Request{clock}, Extent{}, nil, 1, perfmon, false},
		{[]Request{user}, Extent{}, level("3"), 1, perfmon, false},
		{[]Request{clock}, Extent{UserOnly: true}, level("3"), 1, perfmon, false},
		{[]Request{clock}, Extent{UserOnly: true}, level("2"), 1, perfmon, false},
		{[]Request{clock}, Extent{}, level("4"), 1, perfmon, false},
		{[]Request{clock}, Extent{Machine: true}, nil, 0, perfmon, false},
		{[]Request{user}, Extent{Machine: true}, nil, 0, perfmon, false},
		{[]Request{clock, user}, Extent{}, level("3"), 1, perfmon, false},
		{[]Request{tracepoint}, Extent{}, readable, -1, perfmon, false},
		{[]Request{clock, tracepoint}, Extent{Machine: true}, readable, -1, perfmon, false},
		{[]Request{tracepoint}, Extent{}, nil, NoLevel, []string{"CAP_PERFMON", "CAP_DAC_READ_SEARCH"}, false},
		{[]Request{tracepoint}, Extent{}, level("3"), NoLevel, []string{"CAP_PERFMON", "CAP_DAC_READ_SEARCH"}, true},
		{[]Request{probe}, Extent{}, level("-1"), NoLevel, []string{"CAP_PERFMON", "CAP_SYSLOG"}, false},
		{[]Request{probe}, Extent{}, level("4"), NoLevel, []string{"CAP_PERFMON", "CAP_SYSLOG"}, true},
		{[]Request{clock, probe}, Extent{Machine: true}, nil, NoLevel, []string{"CAP_PERFMON", "CAP_SYSLOG"}, false},
		{[]Request{arguments}, Extent{}, nil, NoLevel, []string{"CAP_PERFMON", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_SYSLOG"}, false},
		// Since Linux 6.17 CAP_PERFMON is not enough.
		{[]Request{uprobe}, Extent{}, level("4"), NoLevel, []string{"CAP_SYS_ADMIN"}, false},
		{[]Request{kernelMemory}, Extent{}, nil, NoLevel, []string{"CAP_SYS_ADMIN"}, false},
		{[]Request{userMemory}, Extent{}, nil, 1, perfmon, false},
		{[]Request{clock}, Extent{Foreign: true}, nil, NoLevel, []string{"CAP_PERFMON", "CAP_SYS_PTRACE"}, false},
		// The level permits it, so something else is in the way.
		{[]Request{clock}, Extent{}, level("1"), NoLevel, []string{"CAP_PERFMON", "CAP_SYS_PTRACE"}, false},
		{[]Request{clock}, Extent{Machine: true}, func(st *state) { st.old = true }, 0, []string{"CAP_SYS_ADMIN"}, false},
		// Debian's 6.1 refuses CAP_PERFMON above 2.
		{[]Request{clock}, Extent{Machine: true}, func(st *state) { st.paranoid, st.effective = "3", 1<<unix.CAP_PERFMON }, 2, nil, false},
	} {
		got := (&PermissionError{Err: os.ErrPermission}).forState(tt.events, tt.target, plain(tt.state))
		if got.Level != tt.level || !slices.Equal(got.Capabilities, tt.caps) || got.Lower != tt.lower || got.Environment != "" {
			t.Errorf("%+v of %+v: %+v; want level %d, %v, lower %v", tt.events, tt.target, got, tt.level, tt.caps, tt.lower)
		}
		if got.Unwrap() != os.ErrPermission {
			t.Errorf("%+v: the kernel's error is lost: %v", tt.events, got.Err)
		}
	}
}

// TestPermissionHave: what is there already is told apart from what is missing.
func TestPermissionHave(t *testing.T) {
	for _, tt := range []struct {
		there Capabilities
		want  string
	}{
		{0, "needs CAP_PERFMON, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_SYSLOG"},
		{1 << unix.CAP_PERFMON, "needs CAP_PERFMON, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_SYSLOG (of which there is CAP_PERFMON)"},
		{1<<unix.CAP_SYSLOG | 1<<unix.CAP_PERFMON | 1<<unix.CAP_KILL, "needs CAP_PERFMON, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_SYSLOG (of which there are CAP_PERFMON, CAP_SYSLOG)"},
	} {
		got := (&PermissionError{}).forState([]Request{arguments}, Extent{}, plain(func(st *state) { st.effective = tt.there }))
		if !strings.HasSuffix(got.Error(), tt.want) {
			t.Errorf("with %#x: %q, want %q", tt.there, got, tt.want)
		}
	}
}

// TestPermissionEnvironment: what no setting within reach of the user changes.
func TestPermissionEnvironment(t *testing.T) {
	all := ^Capabilities(0)
	for name, tt := range map[string]struct {
		events []Request
		state  func(*state)
		want   string
	}{
		"plain user":    {[]Request{clock}, nil, ""},
		"seccomp":       {[]Request{clock}, func(st *state) { st.errno, st.seccomp = unix.EPERM, true }, "seccomp filter.*docker run --pid=host --cap-add PERFMON"},
		"seccomp, gone": {[]Request{clock}, func(st *state) { st.errno, st.seccomp = unix.ENOSYS, true }, "seccomp filter"},
		"no perf":       {[]Request{clock}, func(st *state) { st.errno = unix.ENOSYS }, "CONFIG_PERF_EVENTS"},
		"lockdown":      {[]Request{probe}, func(st *state) { st.locked = true }, "lockdown=none"},
		"no tracing":    {[]Request{clock}, func(st *state) { st.locked = true }, ""},
		"namespace":     {[]Request{clock}, func(st *state) { st.namespace, st.effective = true, all }, "user namespace.*kernel.perf_event_paranoid=0 there"},
		"probes there":  {[]Request{probe}, func(st *state) { st.namespace, st.effective = true, all }, "record on the host"},
		"withheld":      {[]Request{clock}, func(st *state) { st.bounds &^= 1 << unix.CAP_PERFMON }, "docker run --pid=host --cap-add PERFMON"},
		"no new":        {[]Request{probe}, func(st *state) { st.noNewPrivs = true }, "no_new_privs"},
		"level does it": {[]Request{clock}, func(st *state) { st.noNewPrivs = true }, ""},
		"all there":     {[]Request{clock}, func(st *state) { st.effective = all }, "security module"},
	} {
		got := (&PermissionError{}).forState(tt.events, Extent{Machine: true}, plain(tt.state))
		words := strings.Split(tt.want, ".*")
		if (got.Environment == "") != (tt.want == "") || slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(got.Error(), w) }) {
			t.Errorf("%s: %q, want %q", name, got.Environment, tt.want)
		}
	}
}

// TestPermissionError reads messages as a whole.
func TestPermissionError(t *testing.T) {
	for want, e := range map[string]PermissionError{
		"recording the whole machine needs CAP_PERFMON, or kernel.perf_event_paranoid at most 0 (now 2)": {
			What: "the whole machine", Level: 0, Now: "2", Capabilities: []string{"CAP_PERFMON"}},
		"recording probes needs CAP_PERFMON, CAP_SYSLOG and kernel.perf_event_paranoid at most 2 (now 3)": {
			What: "probes", Level: NoLevel, Now: "3", Capabilities: []string{"CAP_PERFMON", "CAP_SYSLOG"}, Lower: true},
		"recording kernel stacks needs kernel.perf_event_paranoid at most 2 (now 4)": {What: "kernel stacks", Level: 2, Now: "4"},
		"recording tracepoints needs tracefs, which is not mounted, and CAP_PERFMON": {
			What: "tracepoints", Level: NoLevel, Capabilities: []string{"CAP_PERFMON"}, Unmounted: true},
		"recording probes is not permitted: so it is": {What: "probes", Environment: "so it is"},
	} {
		if got := fmt.Sprint(&e); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
