package printfmt

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/format"
	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata"
)

// workload makes many events happen.
const workload = `
d=$(mktemp -d) && cd "$d" || exit 1
head -c 100000 /dev/zero >f; sync f; mv f g; ln g h; rm g h
(exit 3); sleep 0.02; echo hello | cat >/dev/null
(sleep 5 & p=$!; kill -USR1 $p; wait $p) 2>/dev/null
(exec 3<>/dev/tcp/127.0.0.1/1) 2>/dev/null; (exec 3<>/dev/udp/127.0.0.1/9; echo x >&3) 2>/dev/null; (exec 3<>/dev/tcp/::1/1) 2>/dev/null
cd / && rm -r "$d"
`

// systems are those whose events the workload makes, and which perf does not make
// in numbers by its own writing.
var systems = []string{"sched", "kmem", "block", "timer", "irq", "workqueue", "writeback", "filemap", "ext4", "jbd2",
	"signal", "task", "net", "sock", "tcp", "skb", "napi", "oom", "power", "mmap", "vmscan", "tlb", "csd", "ipi",
	"raw_syscalls", "cgroup", "compaction", "migrate", "fib", "neigh", "qdisc", "udp", "icmp", "netlink", "notifier"}

// differences are all that may differ from perf script 6.1, by cause: what strip
// finds is taken out of both lines, and then they are equal.
var differences = []struct {
	cause string
	event string // of which events, a prefix
	strip *regexp.Regexp
}{
	{"perf takes a frame number for the address of struct page, which depends on a variable of the kernel", "kmem:mm_page_", regexp.MustCompile(`page=\S+`)},
	{"perf does not know the constants of include/uapi/linux/ioprio.h", "block:", regexp.MustCompile(` (none|rt|be|idle|0x\d),`)},
	{"perf 6.1 computes flags & (a | b | c) as if it had no parentheses; the kernel's own text agrees with kprof", "timer:timer_", regexp.MustCompile(` flags=\S*$`)},
	{"perf prints the first name whose value it does not know where no flag is set, and takes jiffies, which only the kernel has, for 0", "writeback:", regexp.MustCompile(` (state|flags|reason|age)[= ]\S*`)},
}

// TestPerfScript records the tracepoints of many systems, and compares the text of
// every sample with perf script's.
func TestPerfScript(t *testing.T) {
	livetest.Require(t, livetest.Perf, livetest.Root, livetest.Tracefs, livetest.Program("bash"))
	livetest.UseMachine(t)
	name := filepath.Join(t.TempDir(), "perf.data")
	args := []string{"record", "-q", "-a", "-m", "8M", "-c", "1", "-o", name}
	for _, system := range systems {
		events, err := filepath.Glob("/sys/kernel/tracing/events/" + system + "/*/format")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			args = append(args, "-e", system+":"+filepath.Base(filepath.Dir(e)))
		}
	}
	for _, call := range []string{"openat", "read", "getpid", "getppid", "mmap", "wait4", "kill", "connect"} {
		args = append(args, "-e", "syscalls:sys_enter_"+call, "-e", "syscalls:sys_exit_"+call)
	}
	args = append(args, "--", "bash", "-c", workload)
	if out, err := livetest.PerfCommand(t, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	compareWithPerf(t, name)
}

func compareWithPerf(t *testing.T, name string) {
	want, got := perfLines(t, name), ownLines(t, name)
	same := 0
	events, causes := map[string]bool{}, map[string]int{}
	unexplained := 0
	for key, w := range want {
		g := got[key]
		if len(g) != len(w) {
			t.Errorf("at %s: %d lines, perf script has %d", key, len(g), len(w))
			continue
		}
		slices.Sort(g)
		slices.Sort(w)
		event := key[strings.IndexByte(key, ' ')+1:]
		events[event] = true
		for i := range w {
			if g[i] == w[i] {
				same++
			} else if c := cause(event, g[i], w[i]); c != "" {
				causes[c]++
			} else if unexplained++; unexplained <= 20 {
				t.Errorf("%s\n%q, perf script says\n%q", event, g[i], w[i])
			}
		}
	}
	t.Logf("%d lines of %d events are the same, %d unexplained", same, len(events), unexplained)
	for c, n := range causes {
		t.Logf("%d lines: %s", n, c)
	}
	for _, e := range []string{"sched:sched_switch", "sched:sched_process_exec", "kmem:kmalloc", "raw_syscalls:sys_enter", "syscalls:sys_enter_openat"} {
		if !events[e] {
			t.Errorf("no %s was compared", e)
		}
	}
}

func cause(event, own, perf string) string {
	if strings.HasPrefix(perf, "[FAILED TO PARSE]") {
		return "perf cannot read the print fmt, and prints name=value"
	}
	for _, d := range differences {
		if strings.HasPrefix(event, d.event) && d.strip.ReplaceAllString(own, "") == d.strip.ReplaceAllString(perf, "") {
			return d.cause
		}
	}
	return ""
}

var scriptLine = regexp.MustCompile(`^ *(\d+)\.(\d{9}): +([a-z0-9A-Z_]+:[a-zA-Z0-9_]+): ?(.*)$`)

// perfLines are the texts that perf script prints, by time and event.
func perfLines(t *testing.T, name string) map[string][]string {
	cmd := livetest.PerfCommand(t, "script", "--ns", "-F", "time,event,trace", "-i", name)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("perf script: %v\n%s", err, errs.Bytes())
	}
	lines := map[string][]string{}
	last := ""
	for l := range strings.Lines(string(out)) {
		l = strings.TrimSuffix(l, "\n")
		m := scriptLine.FindStringSubmatch(l)
		if m == nil {
			if last == "" {
				t.Fatalf("perf script: %q", l)
			}
			k := lines[last]
			k[len(k)-1] += "\n" + l
			continue
		}
		last = m[1] + m[2] + " " + m[3]
		lines[last] = append(lines[last], m[4])
	}
	for _, k := range lines {
		for i := range k {
			k[i] = strings.TrimRight(k[i], "\n")
		}
	}
	return lines
}

type symbol struct {
	addr uint64
	name string
}

// kallsyms are the symbols of the running kernel's code, sorted.
func kallsyms(t *testing.T) []symbol {
	out, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		t.Fatal(err)
	}
	var syms []symbol
	for l := range strings.Lines(string(out)) {
		f := strings.Fields(l)
		if len(f) < 3 || !strings.Contains("tTwW", f[1]) {
			continue
		}
		addr, _ := strconv.ParseUint(f[0], 16, 64)
		syms = append(syms, symbol{addr, f[2]})
	}
	slices.SortStableFunc(syms, func(a, b symbol) int {
		if a.addr < b.addr {
			return -1
		} else if a.addr > b.addr {
			return 1
		}
		return 0
	})
	return syms
}

// ownLines are the texts that Printers print.
func ownLines(t *testing.T, name string) map[string][]string {
	r, err := perfdata.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	syms := kallsyms(t)
	options := Options{Symbol: func(addr uint64) (string, uint64, bool) {
		i, ok := slices.BinarySearchFunc(syms, addr, func(s symbol, a uint64) int {
			if s.addr < a {
				return -1
			} else if s.addr > a {
				return 1
			}
			return 0
		})
		if !ok {
			i--
		}
		if i < 0 || i == len(syms)-1 {
			return "", 0, false
		}
		return syms[i].name, addr - syms[i].addr, true
	}}
	var printers map[string]*Printer
	lines := map[string][]string{}
	var s abi.Sample
	for rec, err := range r.Records() {
		if err != nil {
			t.Fatal(err)
		}
		if printers == nil {
			printers = printersOf(t, r, options)
		}
		if rec.Type != abi.RecordSample {
			continue
		}
		e := r.Events.OfSample(rec.Payload)
		if e == nil {
			t.Fatal("a sample of no event")
		}
		if err := e.Layout.DecodeSample(&s, rec.Misc, rec.Payload); err != nil {
			t.Fatal(err)
		}
		p := printers[e.Name]
		if p == nil {
			t.Fatalf("no format of %s", e.Name)
		}
		key := fmt.Sprintf("%d%09d %s", s.Time/1e9, s.Time%1e9, e.Name)
		lines[key] = append(lines[key], string(p.AppendTo(nil, s.Raw)))
	}
	return lines
}

func printersOf(t *testing.T, r *perfdata.Reader, o Options) map[string]*Printer {
	td, err := perfdata.DecodeTracingData(r.Features.TracingData)
	if err != nil {
		t.Fatal(err)
	}
	strs := ParseStrings(td.Printk)
	o.KernelString = func(addr uint64) (string, bool) { s, ok := strs[addr]; return s, ok }
	printers := map[string]*Printer{}
	for _, tp := range td.Tracepoints {
		f, err := format.Parse(tp.Format, format.Machine{Order: td.Order, LongSize: int(td.LongSize)})
		if err != nil {
			t.Fatal(err)
		}
		f.System = tp.System
		printers[tp.System+":"+tp.Name] = Compile(f, o)
	}
	return printers
}
