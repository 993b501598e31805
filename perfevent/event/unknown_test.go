//go:build linux

package event

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
	"kprof/perfevent/spanrule"
	"kprof/perfevent/tracefs"
)

// TestUnknownNames asks for what is not there, on a machine with these functions.
func TestUnknownNames(t *testing.T) {
	funcs := parseFuncs("ff01 t schedule\nff02 T kernel_clone\nff03 T __x64_sys_openat\nff04 t usb_probe\t[usbnet]\nff05 t scheduler_tick\n")
	sys := t.TempDir()
	if err := os.MkdirAll(filepath.Join(sys, "module", "built_in"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := &Resolver{Sysfs: sys, funcs: funcs}
	livetest.Errors(t, func(text string) (any, error) {
		got, err := r.checkKernelProbe(mustSpec(t, text).Probe)
		if err != nil && (strings.Contains(err.Error(), "file does not exist") || strings.Contains(err.Error(), "invalid argument")) {
			t.Errorf("%s: %v: says it twice", text, err)
		}
		return got, err
	}, map[string]string{
		"kprobe:shedule":             "shedule: this kernel has no such function; did you mean schedule?",
		"kprobe:_do_fork":            "_do_fork: this kernel has no such function; it is called kernel_clone now",
		"kprobe:sys_openat":          "sys_openat: this kernel has no such function; it is called __x64_sys_openat now",
		"kprobe:load_balance":        "load_balance: this kernel has no such function; the compiler may have inlined it",
		"kprobe:asix:asix_probe":     "module asix is not loaded",
		"kprobe:usbnett:usb_probe":   "module usbnett is not loaded; did you mean usbnet?",
		"kprobe:usbnet:usb_prob":     "usbnet:usb_prob: this kernel has no such function; did you mean usb_probe?",
		"kprobe:built-in:nothing":    "built-in:nothing: this kernel has no such function; the compiler may have inlined it",
		"kprobe:scheduler_tik":       "did you mean scheduler_tick?",
		"kprobe:completely_unknown":  "completely_unknown: this kernel has no such function; the compiler may have inlined it",
		"kretprobe:kernel_clone+0x4": "leave out +0x4",
	})
	livetest.Errors(t, func(word string) (Spec, error) { return Spec{}, r.unknownEvent(word) }, map[string]string{
		"schedule":   "it is a function of the kernel: probe it with kprobe:schedule",
		"cycels":     "no event has that name; did you mean cycles?",
		"pagefaults": "did you mean page-faults?",
		"zzzzzzzz":   "no event has that name",
		"off-cpu":    "off-cpu stands for several events, and is recorded without others",
		"wall-clock": "wall-clock stands for several events, and is recorded without others",
		"user_time":  "the kernel has no such event: perf makes one of the time in user code, which stands below counts",
	})
	livetest.Errors(t, ParseSpec, map[string]string{
		"p:x:schedule":       `did you mean "p:x schedule"?`,
		"p: schedule":        `did you mean "p:schedule schedule"?`,
		"r: do_wait+4":       `did you mean "r:NAME do_wait+4"?`,
		"uprob:/bin/ls:main": "no event has that name; did you mean uprobe:/bin/ls:main?",
		"usd:/bin/ls:p:n":    "did you mean usdt:/bin/ls:p:n?",
		"/bin/ls:main":       "no PMU can be called",
		"p:schedule":         `did you mean "p:schedule schedule"?`,
	})
	for _, text := range []string{"p:", "p:group/x:place"} {
		if _, err := ParseSpec(text); err == nil || !strings.Contains(err.Error(), "wants p:[GROUP/]NAME PLACE [ARGUMENTS]") || strings.Contains(err.Error(), "did you mean") {
			t.Errorf("%s: %v: a guess without ground", text, err)
		}
	}
}

// TestCalledHere: who writes an event as bpftrace has it learns what it is called here.
func TestCalledHere(t *testing.T) {
	for text, want := range map[string]string{
		"tracepoint:sched:sched_switch": "sched:sched_switch",
		"t:sched:sched_*":               "sched:sched_*",
		"k:vfs_read":                    "kprobe:vfs_read",
		"fexit:vfs_read":                "kretprobe:vfs_read",
		"kfunc:vfs_read":                "kprobe:vfs_read",
		"u:/bin/ls:main":                "uprobe:/bin/ls:main",
		"ur:/bin/ls:main":               "uretprobe:/bin/ls:main",
		"U:/bin/ls:a:b":                 "usdt:/bin/ls:a:b",
		"profile:hz:99":                 "cpu-clock/freq=99/",
		"profile:ms:10":                 "cpu-clock/period=10000000/",
		"software:page-faults:100":      "page-faults/period=100/",
		"s:cs":                          "cs",
		"hardware:cache-misses:1000":    "cache-misses/period=1000/",
		"interval:s:1":                  "", "profile:hz:": "", "profile:x:1": "", "t:": "", "U:/bin/ls": "", "k:": "", "sched:sched_switch": "", "cycles": "",
	} {
		if got := calledHere(text); got != want {
			t.Errorf("%s is %q here, want %q", text, got, want)
		}
	}
	livetest.Errors(t, ParseSpec, map[string]string{
		"tracepoint:sched:sched_switch": "; did you mean sched:sched_switch?",
		"u:/bin/ls:main":                "; did you mean uprobe:/bin/ls:main?",
	})
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "events/sched/sched_switch"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := &Resolver{fs: tracefs.At(dir)}
	if _, err := r.Resolve(mustSpec(t, "k:vfs_read")); !errors.Is(err, os.ErrNotExist) || !strings.HasSuffix(err.Error(), "; did you mean kprobe:vfs_read?") {
		t.Errorf("%v", err)
	}
}

// TestSpanAsked: what is wrong with a probe of a rule is said of the rule, as it was written.
func TestSpanAsked(t *testing.T) {
	const written = "span:shedule count=$arg3"
	rule, err := spanrule.Parse(written)
	if err != nil {
		t.Fatal(err)
	}
	r := &Resolver{Sysfs: t.TempDir(), funcs: parseFuncs("ff01 t schedule\n")}
	specs, err := r.SpanSpecs(rule)
	if err != nil || len(specs) != 2 {
		t.Fatal(specs, err)
	}
	for _, s := range specs {
		if _, err := r.Resolve(s); err == nil || !strings.HasPrefix(err.Error(), `event "`+written+`": `) {
			t.Errorf("%s: %v", s.Text, err)
		}
	}
}
