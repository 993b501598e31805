//go:build linux

package event

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/livetest"
)

// names are those of all groups of a category.
func names(groups []Group, c Category) (all []string) {
	for _, g := range groups {
		if g.Category == c {
			all = append(all, g.Names...)
		}
	}
	return all
}

// TestAvailable: tracepoints are those that the kernel lists, other events those of a
// machine with the PMUs of fakeSysfs.
func TestAvailable(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	fs := livetest.TracefsMounted(t)
	b, err := os.ReadFile(filepath.Join(fs.Path(), "available_events"))
	if err != nil {
		t.Fatal(err)
	}
	sys := fakeSysfs(t)
	for _, pmu := range []string{"kprobe", "software"} {
		if err := os.Mkdir(filepath.Join(sys, "bus/event_source/devices", pmu), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	groups, err := (&Resolver{Sysfs: sys}).Available()
	if err != nil {
		t.Fatal(err)
	}
	// Other tests make probes meanwhile, and the list leaves out what perf alone may
	// have. What is there all the time is in both.
	listed := strings.Fields(string(b))
	tracepoints := names(groups, Tracepoint)
	for _, name := range []string{"sched:sched_switch", "syscalls:sys_enter_getppid"} {
		if slices.Contains(listed, name) != slices.Contains(tracepoints, name) {
			t.Errorf("%s: the kernel lists it: %v", name, slices.Contains(listed, name))
		}
	}
	if len(tracepoints) < len(listed)*9/10 {
		t.Errorf("%d tracepoints, the kernel lists %d", len(tracepoints), len(listed))
	}
	// Every kernel has these.
	for _, name := range []string{"cpu-clock", "task-clock", "page-faults", "context-switches", "dummy"} {
		if !slices.Contains(names(groups, Software), name) {
			t.Errorf("no %s", name)
		}
	}
	want := []string{"cpu/mem-loads/", "cpu/of-events/", "msr/tsc/"}
	if d := cmp.Diff(want, names(groups, OfPMU)); d != "" {
		t.Errorf("of PMUs: -want +got\n%s", d)
	}
	forms := names(groups, Form)
	if !slices.Contains(forms, "kprobe:FUNC[+OFF]") || slices.Contains(forms, "uprobe:PATH:SYMBOL[+OFF]") {
		t.Errorf("forms of a machine with kprobes and without uprobes: %q", forms)
	}
	if new(Resolver).Has("no_such_system:no_such_event") || !new(Resolver).Has("cpu-clock") {
		t.Error("Has")
	}
}

// TestCompletions completes functions of a kernel with these, and the beginnings of
// forms.
func TestCompletions(t *testing.T) {
	sys := fakeSysfs(t)
	for _, pmu := range []string{"kprobe", "uprobe"} {
		if err := os.Mkdir(filepath.Join(sys, "bus/event_source/devices", pmu), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r := &Resolver{Sysfs: sys, funcs: parseFuncs(kallsyms)}
	for word, want := range map[string][]string{
		"kprobe:vfs_":     {"kprobe:vfs_read", "kprobe:vfs_readv"},
		"kretprobe:vfs_w": nil,
		"kprobe":          {"kprobe:+"},
		"msr/":            {"msr/tsc/"},
		"uretpr":          {"uretprobe:+"},
		"task-c":          {"task-clock"},
		"usdt:/bin":       {"a path"},
		"uprobe:":         {"a path"},
	} {
		found, path := r.Completions(word)
		var got []string
		for _, c := range found {
			if c.Open {
				c.Text += "+"
			}
			got = append(got, c.Text)
		}
		if path {
			got = append(got, "a path")
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: -want +got\n%s", word, d)
		}
	}
}
