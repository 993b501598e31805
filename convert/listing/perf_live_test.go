package listing_test

import (
	"path/filepath"
	"strings"
	"testing"

	"kprof/convert/listing/listingtest"
	"kprof/perfevent/livetest"
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

// TestPerfScript records the tracepoints of many systems, and compares every line with
// perf script's.
func TestPerfScript(t *testing.T) {
	livetest.Require(t, livetest.Perf, livetest.Root, livetest.Tracefs, livetest.Program("bash"))
	livetest.ChangeMachine(t) // perf 6.1 cannot read what two who record the programs of BPF make of each other's records: see abi.Layout.Excess
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
	livetest.LeaveMachine(t)
	events := listingtest.Compare(t, name, listingtest.Columns)
	for _, e := range []string{"sched:sched_switch", "sched:sched_process_exec", "kmem:kmalloc", "raw_syscalls:sys_enter", "syscalls:sys_enter_openat"} {
		if !events[e] {
			t.Errorf("no %s was compared", e)
		}
	}
}

// TestPerfScriptCorpus compares the lines of recordings of other kernels and machines, of
// which perf reads those that have nothing but the kernel's events.
func TestPerfScriptCorpus(t *testing.T) {
	livetest.Require(t, livetest.Perf)
	files := livetest.Recordings(t)
	events, read := map[string]bool{}, 0
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			if strings.Contains(name, "intel_pt") || strings.Contains(name, "platform_system_extras") {
				return // perf makes samples of the trace; it does not read simpleperf's names of events
			}
			for _, columns := range []string{listingtest.Columns, "comm,pid,tid,time,event"} {
				if livetest.PerfCommand(t, "script", "-F", columns, "-i", name).Run() == nil {
					read++
					for e := range listingtest.Compare(t, name, columns) {
						events[e] = true
					}
					return
				}
			}
			t.Log("perf does not read it, or it has no times")
		})
	}
	t.Logf("%d of %d recordings compared, of %d events", read, len(files), len(events))
	if read < 3 || len(livetest.CorpusRecordings(t)) > 0 && !events["sched:sched_switch"] {
		t.Errorf("%d recordings compared, of events %v", read, events)
	}
}
