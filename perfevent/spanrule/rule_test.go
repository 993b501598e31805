package spanrule_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"kprof/perfevent/event"
	"kprof/perfevent/fuzztest"
	"kprof/perfevent/livetest"
	"kprof/perfevent/spanrule"
	"kprof/perfevent/syscalls"
)

func Example() {
	r, err := spanrule.Parse("span:sched:sched_waking..sched:sched_switch by pid..next_pid")
	if err != nil {
		fmt.Println(err)
		return
	}
	start, end := r.Families[0].Starts[0], r.Families[0].Ends[0]
	fmt.Println(start.Event, start.Key[0])
	fmt.Println(end.Event, end.Key[0])
	// Output:
	// sched:sched_waking pid
	// sched:sched_switch next_pid
}

// words are the sides of a rule in a line each.
func words(r *spanrule.Rule) string {
	var b strings.Builder
	if name, _, given := strings.Cut(r.Text, "="); given && r.Name == strings.TrimSpace(name) {
		b.WriteString(strings.TrimPrefix(r.Name, spanrule.Prefix) + ": ")
	}
	for _, f := range r.Families {
		for i, sides := range [][]spanrule.Side{f.Starts, f.Ends} {
			for _, s := range sides {
				fmt.Fprintf(&b, "%s %s", []string{"from", "to"}[i], s.Spec)
				if s.Task {
					b.WriteString(" task")
				}
				if s.CPU {
					b.WriteString(" cpu")
				}
				for _, k := range s.Key {
					fmt.Fprintf(&b, " %v", k)
				}
				if s.If != nil {
					fmt.Fprintf(&b, " if %v", s.If)
				}
				if s.Again {
					b.WriteString(" again")
				}
				b.WriteString("; ")
			}
		}
	}
	if r.Nested {
		b.WriteString("nested")
	}
	if r.Value != nil {
		fmt.Fprintf(&b, "holds %v", r.Value)
	}
	return strings.TrimSuffix(b.String(), "; ")
}

func TestParse(t *testing.T) {
	const calls = "from raw_syscalls:sys_enter task; to raw_syscalls:sys_exit task" +
		"; from syscalls:sys_enter_* task; to syscalls:sys_exit_* task; from syscalls:sys_enter_* task; to syscalls:sys_exit_* task" +
		"; from syscalls:sys_enter_* task; to syscalls:sys_exit_* task"
	livetest.Table(t, func(text string) string {
		r, err := spanrule.Parse(text)
		if err == nil {
			return words(r)
		}
		if !errors.As(err, new(*spanrule.ParseError)) {
			t.Errorf("%.60q: %T", text, err)
		}
		return ""
	}, map[string]string{
		"span:syscalls":                               calls,
		"span:syscalls:read,write":                    calls,
		"span:softirq":                                "from irq:softirq_entry cpu field.vec; to irq:softirq_exit cpu field.vec",
		"span:vfs_read":                               "from kprobe:vfs_read kprof_sp=$stack task; to kretprobe:vfs_read kprof_sp=$stack ret=$retval task; nested",
		"span:vfs_read count=$arg3":                   "from kprobe:vfs_read kprof_sp=$stack count=$arg3 task; to kretprobe:vfs_read kprof_sp=$stack ret=$retval task; nested",
		"span:ext4:ext4_*":                            "from kprobe:ext4:ext4_* kprof_sp=$stack task; to kretprobe:ext4:ext4_* kprof_sp=$stack ret=$retval task; nested",
		"span:uprobe:/a:b.so:f":                       "from uprobe:/a:b.so:f kprof_sp=$stack task; to uretprobe:/a:b.so:f kprof_sp=$stack ret=$retval task; nested",
		"span:uprobe:../a.out:f":                      "from uprobe:../a.out:f kprof_sp=$stack task; to uretprobe:../a.out:f kprof_sp=$stack ret=$retval task; nested",
		"span:a:b..c:d":                               "from a:b task; to c:d task",
		"span:a:b..c:d nested":                        "from a:b task; to c:d task; nested",
		"span:a:b .. c:d by pid..next_pid, x":         "from a:b pid x; to c:d next_pid x",
		"span:a:b..c:d by tid, in(a, b)":              "", // no such function
		"span:a:b..c:d by x in {1, 2} nested":         "from a:b x in {1, 2}; to c:d x in {1, 2}; nested",
		"span:uprobe:../a:f..uretprobe:../a:f by tid": "from uprobe:../a:f tid; to uretprobe:../a:f tid",
		"span:a:b..c:d by a,b,c":                      "from a:b a b c; to c:d a b c",
		"span:a:b..c:d by x in {1, 2}, y":             "from a:b x in {1, 2} y; to c:d x in {1, 2} y",
		`span:a:b..c:d by x == "p,q", y`:              `from a:b x == "p,q" y; to c:d x == "p,q" y`,
		`span:a:b..c:d by x == "p\",q", y`:            `from a:b x == "p\",q" y; to c:d x == "p\",q" y`,
		"span:a:b..c:d by ptr holds bytes":            "from a:b ptr; to c:d ptr; holds bytes",
		"span:" + strings.Repeat("x", 4091):           "from kprobe:" + strings.Repeat("x", 4091) + " kprof_sp=$stack task; to kretprobe:" + strings.Repeat("x", 4091) + " kprof_sp=$stack ret=$retval task; nested",
		"span:" + strings.Repeat("x", 4092):           "",
		"span:a:b..c:d by ptr holds )":                "",
		"span:uprobe::f":                              "",
		"span:uprobe:/a:":                             "",
		"span:malloc:":                                "",
		"span:malloc:/a b":                            "",
		"span:malloc:/a,/b":                           "",
		"span:":                                       "",
		"span:irq:x":                                  "",
		"span:syscalls:raed":                          "",
		"span:a:b..a:b by tid":                        "from a:b tid; to a:b tid again",
		"span:a:b..a:b":                               "from a:b task; to a:b task again",
		"span:a:b if x == 1..a:b if x == 1 by y":      "from a:b y if x == 1; to a:b y if x == 1 again",
		"span:a:b if x == 1 .. a:b if x == 2":         "from a:b task if x == 1; to a:b task if x == 2",
		"span:a:b if x..a:b by y..z":                  "from a:b y if x; to a:b z",
		"span:a:b..c:d if x || y > 3 by z nested":     "from a:b z; to c:d z if x || y > 3; nested",
		`span:a:b if x == "p..q by r"..c:d by y`:      `from a:b y if x == "p..q by r"; to c:d y`,
		`span:a:b if x == "..c:d by y`:                "",
		"span:a:b if x in {1, 2}..c:d holds y":        "from a:b task if x in {1, 2}; to c:d task; holds y",
		"span:uprobe:../a:f if tid..c:d":              "from uprobe:../a:f task if tid; to c:d task",
		"span:lives=a:b..c:d by x":                    "lives: from a:b x; to c:d x",
		"span:on-cpu_2 = a:b if x == 1..c:d":          "on-cpu_2: from a:b task if x == 1; to c:d task",
		"span:held=a:b..c:d by ptr holds bytes":       "held: from a:b ptr; to c:d ptr; holds bytes",
		"span:syscalls=a:b..c:d":                      "",
		"span:=a:b..c:d":                              "",
		"span:x==a:b..c:d":                            "",
		"span:a:b if ..c:d":                           "",
		"span:a:b if)..c:d":                           "",
		"span:a:b if x if y..c:d":                     "",
		"span:a:b x..c:d":                             "",
		"span: if x..c:d":                             "",
		"span:a:b..":                                  "",
		"span:..a:b":                                  "",
		"span:a:b..c:d by":                            "",
		"span:a:b..c:d by ,":                          "",
		"span:a:b..c:d by a,b,c,d":                    "",
		"span:a:b..c:d..e:f by x":                     "",
		"span:f+4":                                    "",
		"span:a:b:c":                                  "",
		"span:uprobe:/bin/true":                       "",
		"syscalls":                                    "",
		"span:a:b..c:d by x\nby y":                    "",
		"span:" + strings.Repeat("x", 5000):           "",
	})
}

// TestMalloc: each function that allocates is seen at its entry, with how many bytes it is to give as
// malloc(3), posix_memalign(3) and malloc.h have its arguments, and at its return; free once. A program
// that has malloc and free need not have the others.
func TestMalloc(t *testing.T) {
	r, err := spanrule.Parse("span:malloc:/lib/libc.so.6")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"malloc":         "kprof_bytes=$arg1: kprof_bytes",
		"calloc":         "kprof_count=$arg1 kprof_bytes=$arg2: kprof_count * kprof_bytes optional",
		"realloc":        "kprof_address=$arg1 kprof_bytes=$arg2: kprof_bytes of kprof_address optional",
		"reallocarray":   "kprof_address=$arg1 kprof_count=$arg2 kprof_bytes=$arg3: kprof_count * kprof_bytes of kprof_address optional",
		"posix_memalign": "kprof_slot=$arg1 kprof_bytes=$arg3: kprof_bytes optional",
		"aligned_alloc":  "kprof_bytes=$arg2: kprof_bytes optional",
		"memalign":       "kprof_bytes=$arg2: kprof_bytes optional",
		"valloc":         "kprof_bytes=$arg1: kprof_bytes optional",
		"pvalloc":        "kprof_bytes=$arg1: kprof_bytes optional",
	}
	starts, ends := r.Families[0].Starts, r.Families[0].Ends
	if len(r.Families) != 1 || len(starts) != 2*len(want) || len(ends) != 1 || r.Value.String() != "kprof_bytes" {
		t.Fatalf("%d families, %d starts, %d ends, of %v", len(r.Families), len(starts), len(ends), r.Value)
	}
	for i := 0; i < len(starts); i += 2 {
		enter, back := &starts[i], &starts[i+1]
		name := strings.TrimPrefix(enter.Event, "uprobe:/lib/libc.so.6:")
		got := strings.TrimPrefix(enter.Spec, enter.Event+" kprof_sp=$stack ") + ": " + enter.Bytes.String()
		for _, k := range enter.Key {
			got += " of " + k.String()
		}
		if enter.Optional {
			got += " optional"
		}
		if got != want[name] || enter.Memory != spanrule.Allocates {
			t.Errorf("%s: %s, want %s", name, got, want[name])
		}
		if back.Event != "uretprobe:/lib/libc.so.6:"+name || back.Memory != spanrule.Allocated || back.Optional != enter.Optional ||
			len(back.Key) != 1 || back.Key[0].String() != "kprof_ret" {
			t.Errorf("%s: back at %s, key %v", name, back.Spec, back.Key)
		}
		// The address that posix_memalign gives is in a variable of its caller.
		if copied := strings.Contains(back.Spec, "kprof_stack0=$stack0 "); copied != (name == "posix_memalign") {
			t.Errorf("%s: the caller's stack: %v", name, copied)
		}
	}
	if e := ends[0]; e.Spec != "uprobe:/lib/libc.so.6:free kprof_sp=$stack kprof_address=$arg1" || e.Memory != spanrule.Frees || e.Optional {
		t.Errorf("end: %+v", e)
	}
}

// TestTable: all rules by name can be read, their two sides have as many keys, and their
// events can be asked for.
func TestTable(t *testing.T) {
	rules, what := spanrule.Named()
	if len(rules) < 9 {
		t.Errorf("%d rules", len(rules))
	}
	for i, r := range rules {
		if what[i] == "" || len(r.Families) == 0 {
			t.Errorf("%s: nothing said", r.Text)
		}
		name := strings.TrimPrefix(r.Text, spanrule.Prefix)
		if code := name == "workqueue" || name == "timer" || strings.HasPrefix(name, "rwmmio"); r.NamesCode() != code {
			t.Errorf("%s: names functions of the kernel: %v", r.Text, r.NamesCode())
		}
		for _, f := range r.Families {
			for _, s := range append(append([]spanrule.Side{}, f.Starts...), f.Ends...) {
				if s.Memory == spanrule.NotMemory && len(s.Key) != len(f.Starts[0].Key) || s.Task != f.Starts[0].Task || s.CPU != f.Starts[0].CPU {
					t.Errorf("%s: %s has another key", r.Text, s.Event)
				}
				if _, err := event.ParseSpec(s.Spec); err != nil {
					t.Errorf("%s: %v", r.Text, err)
				}
			}
		}
	}
}

// TestFields: the names are those that the kernel and package event give to fields.
func TestFields(t *testing.T) {
	livetest.Table(t, func(text string) string {
		r, err := spanrule.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(r.Fields, " ")
	}, map[string]string{
		"span:f":                       "ret",
		"span:f count=$arg3 $arg1:x32": "count arg3 ret",
		"span:f dfd how->flags:x32 a.b +0($arg1):string": "dfd flags b arg5 ret",
		"span:uprobe:/a:f %di":                           "arg2 ret",
		"span:syscalls":                                  "",
	})
}

func TestMatches(t *testing.T) {
	for _, c := range []struct{ side, event, varying string }{
		{"kprobe:vfs_read", "kprobe:vfs_read", ""},
		{"kprobe:vfs_read", "kprobe:vfs_readv", "no"},
		{"kprobe:vfs_*", "kprobe:vfs_read", "read"},
		{"kprobe:vfs_*", "kretprobe:vfs_read", "no"},
		{"kprobe:m:v*_r*d", "kprobe:m:vfs_read", "fs_read"},
		{"syscalls:sys_exit_*", "syscalls:sys_exit_read", "read"},
		{"kprobe:v*_r*d", "kprobe:vfs_readv", "no"},
		{"kprobe:v*_r*d", "kprobe:v_rd", "_rd"}, // a * is nothing too
		{"kprobe:v*_r*_r", "kprobe:v_r", "no"},  // what one part has matched is not matched again
		{"kprobe:v*_r*_r", "kprobe:v_r_r", "_r_r"},
		{"uprobe:/a:f", "uprobe:/a:f x=$stack", ""},
	} {
		s := spanrule.Side{Event: c.side}
		got, ok := s.Matches(c.event)
		if ok != (c.varying != "no") || ok && got != c.varying {
			t.Errorf("%s of %s: %q %v", c.event, c.side, got, ok)
		}
	}
}

func TestSyscalls(t *testing.T) {
	r, err := spanrule.Parse("span:syscalls:read:exit_group")
	if err != nil {
		t.Fatal(err)
	}
	x, arm := syscalls.Of("x86_64"), syscalls.Of("arm64")
	if f, err := r.Filter(x); err != nil || f != "id == 0 || id == 231" {
		t.Errorf("%q %v", f, err)
	}
	if f, err := r.Filter(arm); err != nil || f != "id == 63 || id == 94" {
		t.Errorf("%q %v", f, err)
	}
	back, err := spanrule.Parse("span:syscalls:rt_sigreturn")
	if err != nil {
		t.Fatal(err)
	}
	if f, err := back.Filter(x); err != nil || f != "id == 15 || id == -1" {
		t.Errorf("%q %v", f, err)
	}
	if _, err := r.Filter(nil); err == nil {
		t.Error("a machine without system calls has them")
	}
	if !r.Takes("read") || r.Takes("write") || r.Takes("") || !spanrule.Never("exit_group") || spanrule.Never("read") {
		t.Error("another system call")
	}
	all, _ := spanrule.Parse("span:syscalls")
	if f, err := all.Filter(nil); f != "" || err != nil || !all.Takes("") {
		t.Errorf("all: %q %v", f, err)
	}
}

// FuzzParse: any text is read or refused, in bounded memory, and what is read again comes
// to the same.
func FuzzParse(f *testing.F) {
	fuzztest.Add(f)
	f.Fuzz(func(t *testing.T, text string) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r, err := spanrule.Parse(text)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20+1000*uint64(len(text)) {
			t.Errorf("%d bytes for %d", n, len(text))
		}
		if err != nil {
			return
		}
		again, err := spanrule.Parse(r.Text)
		if err != nil || words(again) != words(r) || len(r.Families) == 0 {
			t.Errorf("%q: %v", text, err)
		}
	})
}
