package trace_test

import (
	"fmt"
	"strings"
	"testing"

	"kprof/convert"
	"kprof/convert/listing"
	"kprof/perfevent/spanrule"
)

// TestUnnamedFields: what belongs together is found in events whose print fmt has no names for
// that, or pointers as the kernel prints them.
func TestUnnamedFields(t *testing.T) {
	name := written(t, `# tracer: nop
  sh-99  [000] .....  1.000001: sys_enter: NR 0 (3, 7ffd1000, 400, 0, 0, 0)
  sh-99  [000] .....  1.000003: sys_exit: NR 0 = -11
  sh-99  [000] .....  1.000010: block_rq_issue: 8,16 WS 4096 () 1234 + 8 none,0,0 [kworker/1:1 + x]
  sh-99  [001] ..s1.  1.000030: block_rq_complete: 8,16 WS () 1234 + 8 none,0,0 [-5]
  sh-99  [001] .....  1.000035: block_bio_remap: 8,16 WS 1234 + 8 <- (8,17) 12
  sh-99  [001] .....  1.000040: workqueue_queue_work: work struct=00000000dc2cb5d7 function=f workqueue=events req_cpu=1 cpu=1
  sh-99  [001] .....  1.000041: workqueue_execute_start: work struct 00000000dc2cb5d7: function f
  sh-99  [001] .....  1.000046: workqueue_execute_end: work struct 00000000dc2cb5d7: function f
  sh-99  [000] .....  1.000050: contention_begin: 00000000ac2cb5d7 (flags=SPIN|READ)
  sh-99  [000] .....  1.000057: contention_end: 00000000ac2cb5d7 (ret=0)
  sh-99  [000] .....  1.000060: timer_expire_entry: timer=ffff88003e123450 function=g now=1 baseclk=1
  sh-99  [000] .....  1.000068: timer_expire_exit: timer=ffff88003e123450
`)
	text := list(t, name, listing.Options{}, listing.PrinterOptions{Columns: listing.Selection{Exact: true, Add: listing.Fields}})
	for _, want := range []string{
		"id=0 text=NR 0 (", "id=0 ret=-11 ",
		"dev=8388624 rwbs=WS sector=1234 nr_sector=8 bytes=4096 comm=kworker/1:1 + x ", "dev=8388624 rwbs=WS sector=1234 nr_sector=8 error=-5 ",
		"dev=8388624 rwbs=WS sector=1234 nr_sector=8 text=8,16 WS 1234 + 8 <-",
		"work=0xdc2cb5d7 function=f text=", "flags=SPIN|READ lock_addr=0xac2cb5d7 ", "timer=0xffff88003e123450 function=g ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for rule, want := range map[string]string{"syscalls": "2000", "block": "20000", "workqueue": "5000", "lock": "7000", "timer": "8000"} {
		r, err := spanrule.Parse(spanrule.Prefix + rule)
		if err != nil {
			t.Fatal(err)
		}
		o := convert.Options{}
		o.Spans = []*spanrule.Rule{r}
		if got := folded(t, name, spanrule.Prefix+rule, 3, o); len(got) != 1 || !strings.HasSuffix(got[0], " "+want) {
			t.Errorf("%s: %q, want %s", rule, got, want)
		}
	}
}

// TestFunctionAlone: trace-cmd report tells of the function tracer's events the function alone,
// if not asked for its caller (-O parent).
func TestFunctionAlone(t *testing.T) {
	name := written(t, "cpus=1\n  sh-99 [000] 1.000001: function:             vfs_read\n  sh-99 [000] 1.000002: function:                rw_verify_area\n")
	if got := folded(t, name, "ftrace:function", 0, convert.Options{}); strings.Join(got, ",") != "rw_verify_area 1,vfs_read 1" {
		t.Errorf("%q", got)
	}
}

// TestCallsWithoutNames: a rule of some system calls takes none of what does not tell the machine,
// and says so.
func TestCallsWithoutNames(t *testing.T) {
	name := written(t, "# tracer: nop\n  sh-99 [000] ..... 1.000001: sys_enter: NR 0 (3, 0, 0, 0, 0, 0)\n  sh-99 [000] ..... 1.000003: sys_exit: NR 0 = 1\n")
	r, err := spanrule.Parse("span:syscalls:read,write")
	if err != nil {
		t.Fatal(err)
	}
	o := convert.Options{}
	o.Spans = []*spanrule.Rule{r}
	p, err := convert.Open(t.Context(), name, o)
	if err == nil {
		err = p.Empty()
	}
	const want = ": no sample is of span:syscalls:read,write; it does not tell the machine, without which system calls have numbers and no names"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v", err)
	}
}

func rule(t *testing.T, s string) *spanrule.Rule {
	t.Helper()
	r, err := spanrule.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// callTimes lists the system calls that a rule takes, with their errors and times in ns.
func callTimes(t *testing.T, name, of string) string {
	t.Helper()
	o := convert.Options{}
	o.Spans = []*spanrule.Rule{rule(t, of)}
	p, err := convert.Open(t.Context(), name, o)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range p.Set.NumSamples() {
		s := p.Set.Sample(i)
		call, _ := p.Set.Label(s.Labels, "syscall")
		failed, _ := p.Set.Label(s.Labels, "error")
		got = append(got, fmt.Sprint(call.Str, " ", failed.Str, " ", s.Values[3]))
	}
	return strings.Join(got, ", ")
}

// TestCallsByEvent: the events that each system call has of its own tell its name, where they have
// no number.
func TestCallsByEvent(t *testing.T) {
	name := written(t, `cpus=1
             cat-98      [000] .....    26.000000: sys_enter_openat:     dfd: ffffffffffffff9c, filename: 7ffd1000, flags: 80000, mode: 0
             cat-98      [000] .....    26.000100: sys_exit_openat:      0x3
             cat-98      [000] .....    26.000200: sys_enter_read:       fd: 3, buf: 7ffd1000, count: 80000
             cat-98      [000] .....    26.000500: sys_exit_read:        0xfffffffffffffff5
             cat-98      [000] .....    26.000600: sys_enter_read:       fd: 3, buf: 7ffd1000, count: 80000
             cat-98      [000] .....    26.000700: sys_exit_openat:      0x4
             cat-98      [000] .....    26.000800: sys_enter_exit_group: error_code: 0
`)
	for rule, want := range map[string]string{
		"span:syscalls":      "openat  100000, read EAGAIN 300000, read  0",
		"span:syscalls:read": "read EAGAIN 300000, read  0",
	} {
		if s := callTimes(t, name, rule); s != want {
			t.Errorf("%s: %s, want %s", rule, s, want)
		}
	}
	r, err := spanrule.Parse("span:syscalls:close")
	if err != nil {
		t.Fatal(err)
	}
	o := convert.Options{}
	o.Spans = []*spanrule.Rule{r}
	p, err := convert.Open(t.Context(), name, o)
	if err == nil {
		err = p.Empty()
	}
	if err == nil || !strings.HasSuffix(err.Error(), "no sample is of span:syscalls:close") {
		t.Errorf("%v", err)
	}
	_, err = convert.Open(t.Context(), written(t, "cpus=1\n cat-98 [000] ..... 26.000000: sys_enter_read: fd: 3\n"), o)
	const missing = "it is no recording of raw_syscalls:sys_enter, raw_syscalls:sys_exit, syscalls:sys_exit_*, of which span:syscalls:close is made"
	if err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("%v", err)
	}
}

// TestCallsOfTracer: in the tracer's own text the begins of system calls look like calls, and what they
// return stands behind an arrow (kernel/trace/trace_syscalls.c). A call belongs to the return of its
// task; arguments are fields.
func TestCallsOfTracer(t *testing.T) {
	name := written(t, `# tracer: nop
             cat-98      [000] .....    26.000000: sys_openat(dfd: ffffff9c, filename: 7ffd1000, flags: 80000, mode: 10)
             cat-99      [001] .....    26.000050: sys_openat(int dfd: ffffff9c, const char * filename: 7ffd1000, int flags: 0, umode_t mode: 0)
             cat-98      [001] .....    26.000100: sys_openat -> 0x3
             cat-98      [001] .....    26.000200: sys_mmap(addr: 0, len: 0x2000, prot: 1, flags: 2, fd: 3, off: 0)
             cat-99      [000] .....    26.000250: sys_openat -> 0xfffffffffffffffe
             cat-98      [001] .....    26.000260: sys_mmap -> 0x7f0000000000
             cat-98      [001] .....    26.000270: sys_mmap(addr: 0, len: 0x5000, prot: 1, flags: 2, fd: 3, off: 0)
             cat-98      [001] .....    26.000280: sys_mmap -> 0xfffffffffffffff4
             cat-98      [001] .....    26.000290: sys_munmap(addr: 0x7f0000001000, len: 0x1000)
             cat-98      [001] .....    26.000292: sys_munmap -> 0
             cat-98      [001] .....    26.000300: sys_getpid()
             cat-98      [001] .....    26.000301: sys_getpid -> 0x62
             cat-98      [001] .....    26.000302: sys_openat(dfd: AT_FDCWD, filename: 0x7ffd1000 "/etc, b", flags: O_RDONLY)
             cat-98      [001] .....    26.000303: sys_openat -> 0x3
             cat-98      [001] .....    26.000303: sys_write(fd: 1, buf: 0x7ffd2000 (61:2c:20:62:3a:20:22:0a, ...) "a, b: "."..., count: 0x200)
             cat-98      [001] .....    26.000304: sys_write -> 0x200
             cat-98      [001] .....    26.000304: sys_write(fd: 1, buf: 0x7ffd3000 (00:01), count: 2)
             cat-98      [001] .....    26.000305: sys_write -> 0x2
             cat-98      [001] .....    26.000305: sys_renameat(olddfd: 0xffffff9c, oldname: 0x7ffd1000 "a "b", c", newdfd: 0xffffff9c, newname: 0x7ffd1010 "")
             cat-98      [001] .....    26.000306: sys_renameat -> 0x0
`)
	text := list(t, name, listing.Options{}, listing.PrinterOptions{Columns: listing.Selection{Exact: true, Add: listing.Fields}})
	for _, want := range []string{
		"dfd=0xffffff9c filename=0x7ffd1000 flags=0x80000 mode=0x10 __filename_val= text=sys_openat(dfd: ffffff9c",
		"ret=-2 text=sys_openat -> 0xffff", "ret=98 ", "text=sys_getpid()",
		`dfd=AT_FDCWD filename=0x7ffd1000 flags=O_RDONLY mode=0x0 __filename_val=/etc, b `,
		"fd=1 buf=0x7ffd2000 count=0x200 text=", "fd=1 buf=0x7ffd3000 count=0x2 text=",
		`olddfd=0xffffff9c oldname=0x7ffd1000 newdfd=0xffffff9c newname=0x7ffd1010 __oldname_val=a "b", c __newname_val= text=`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if got, want := callTimes(t, name, "span:syscalls"), "openat  101000, openat ENOENT 200000, mmap  60000, mmap ENOMEM 10000, munmap  2000, getpid  1000, write  2000, renameat  1000"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	o := convert.Options{}
	o.Spans = []*spanrule.Rule{rule(t, "span:mmap")}
	p, err := convert.Open(t.Context(), name, o)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	for i := range p.Set.NumSamples() {
		values = append(values, fmt.Sprint(p.Set.Sample(i).Values))
	}
	if s := strings.Join(values, ","); s != "[1 8192 1 8192]" { // what failed has mapped nothing
		t.Errorf("span:mmap: %s", s)
	}
}

// TestUnknownTypes: what the kernel did not print is an event by its number, as of a trace.dat, and nothing that a
// program wrote; which programs may write themselves.
func TestUnknownTypes(t *testing.T) {
	const head = "              sh-99      [001] d..2.    26.117069: "
	name := written(t, "# tracer: nop\n"+head+"UNKNOWN TYPE 4\n"+head+"Unknown type 1234\n"+head+"type: 1235\n"+head+"tracing_mark_write: UNKNOWN TYPE 4\n"+head+"UNKNOWN TYPE of it\n")
	want := []string{"unknown:4: UNKNOWN TYPE 4", "unknown:1234: Unknown type 1234", "unknown:1235: type: 1235", "ftrace:tracing_mark_write: UNKNOWN TYPE 4", "ftrace:print: UNKNOWN TYPE of it", ""}
	got := strings.Split(list(t, name, listing.Options{}, listing.PrinterOptions{}), "\n")
	for i := range want {
		if len(got) != len(want) || !strings.HasSuffix(got[i], want[i]) {
			t.Fatalf("%q, want %q", got, want)
		}
	}
}
