package main

import (
	"cmp"
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kprof/perfevent/event"
	"kprof/perfevent/spelling"
)

// elsewhere are commands of other tools, and what people call a thing, with what
// does it here.
var elsewhere = map[string]string{
	"flamegraph":   "convert INPUT -o flame.svg",
	"flame":        "convert INPUT -o flame.svg",
	"svg":          "convert INPUT -o flame.svg",
	"folded":       "convert INPUT -f folded",
	"collapse":     "convert INPUT -f folded",
	"pprof":        "convert INPUT -o profile.pb.gz",
	"web":          "view INPUT",
	"http":         "view INPUT",
	"open":         "view INPUT",
	"show":         "report INPUT",
	"compare":      "diff BASE NEW",
	"events":       "list",
	"capture":      "record",
	"rec":          "record",
	"check":        "doctor",
	"version":      "--version",
	"buildid-list": "report --header INPUT",
	"archive":      "record -o FILE, which keeps all names in FILE",

	"buildid-cache": "record -o FILE, which keeps all names in FILE",
	"evlist":        "report --list-events INPUT",
	"ftrace":        "record -e graph:FUNCTION, or -e function:FUNCTION",
	"c2c":           `script -F +addr,+data_src --where 'mem_snoop ~ "*HitM*"' INPUT`,
	"hist":          "report INPUT",
	"mem":           "report --value weight --by mem_lvl INPUT",
	"kwork":         "record -a -e span:irq -e span:softirq -e span:workqueue, and then kprof report --histogram --event span:softirq",
	"kvm":           "record -a -e span:kvm:kvm_exit..kvm:kvm_entry, and then kprof report --histogram",
	"extract":       "record --instance NAME, which takes what an instance of the tracer has",
	"start":         "record, until Ctrl-C: nothing is recorded without a kprof that runs",
	"stop":          "record, until Ctrl-C: nothing is recorded without a kprof that runs",
	"snapshot":      "record --flight 30s, which writes what it has at each SIGUSR2",
	"sqlhist":       "record -a -e 'span:EVENT..EVENT by KEY', and then kprof report --histogram",
	"split":         "script --time START,END INPUT",
	"inject":        "report INPUT, which finds jitdumps and build ids itself",
	"kmem":          "record -a -e span:kmalloc",
	"lock":          "record -a -e span:lock",
	"sched":         "record -a -e off-cpu, and then kprof report --delays",
	"stream":        "trace -e EVENT",
	"strace":        "trace COMMAND",
	"timechart":     "convert --flamechart INPUT -o chart.svg",
}

// tools are those of bcc, bpftrace and perf-tools, with what does here what they do. They are
// written where a command should be, or an event.
var tools = map[string]string{
	"argdist":        "record -a -e EVENT, and then kprof report --value FIELD --histogram, or --by FIELD",
	"bashreadline":   "trace -a -e 'uretprobe:/bin/bash:readline line=+0($retval):ustring'",
	"biolatency":     "record -a -e span:block, and then kprof report --histogram",
	"biosnoop":       "trace -a --span block",
	"biostacks":      "record -a -e span:block -o block.svg",
	"biotop":         "record -a -e span:block, and then kprof report --by comm",
	"bitesize":       "record -a -e block:block_rq_issue, and then kprof report --value bytes --histogram --by comm",
	"btrfsdist":      "record -a -e 'span:btrfs_file_*_iter', and then kprof report --histogram",
	"btrfsslower":    "trace -a --span 'btrfs_file_*_iter' --slower-than 10ms",
	"cachestat":      "stat -a -I 1s -e kprobe:folio_mark_accessed, of which filemap:mm_filemap_add_to_page_cache are the misses",
	"capable":        "trace -a -e 'kprobe:cap_capable cap=$arg3'",
	"compactsnoop":   "trace -a --span compaction:mm_compaction_begin..compaction:mm_compaction_end",
	"cpudist":        "record -a -e 'span:on-cpu=sched:sched_switch if next_pid != 0..sched:sched_switch if prev_pid != 0 by next_pid..prev_pid', and then kprof report --by next_comm --histogram",
	"cpuwalk":        "record -a -F 99, and then kprof report --by cpu",
	"drsnoop":        "trace -a --span vmscan:mm_vmscan_direct_reclaim_begin..vmscan:mm_vmscan_direct_reclaim_end",
	"execsnoop":      "trace -a -e sched:sched_process_exec",
	"exitsnoop":      "trace -a -e sched:sched_process_exit",
	"ext4dist":       "record -a -e 'span:ext4_file_*_iter', and then kprof report --histogram",
	"ext4slower":     "trace -a --span 'ext4_file_*_iter' --slower-than 10ms",
	"fileslower":     "trace -a --span vfs_read --span vfs_write --slower-than 10ms",
	"fsdist":         "record -a -e span:vfs_read -e span:vfs_write, and then kprof report --histogram --event span:vfs_read",
	"fsslower":       "trace -a --span vfs_read --span vfs_write --slower-than 10ms",
	"funccount":      "stat -a -e kprobe:FUNCTION",
	"funcgraph":      "record -a -e graph:FUNCTION, and then kprof script",
	"funclatency":    "record -a -e span:FUNCTION, and then kprof report --histogram",
	"funcslower":     "trace -a --span FUNCTION --slower-than 1ms",
	"functrace":      "record -a -e function:FUNCTION, and then kprof script",
	"gethostlatency": "trace -a --span uprobe:LIBC:getaddrinfo, LIBC being the path of libc.so.6",
	"hardirqs":       "record -a -e span:irq, and then kprof report --histogram",
	"iolatency":      "record -a -e span:block, and then kprof report --histogram",
	"iosnoop":        "trace -a --span block",
	"killsnoop":      "trace -a -e signal:signal_generate",
	"klockstat":      "record -a -e span:lock",
	"kprobe":         "trace -a -e kprobe:FUNCTION",
	"kvmexit":        "record -a -e span:kvm:kvm_exit..kvm:kvm_entry, and then kprof report --histogram",
	"llcstat":        "stat -a -e LLC-loads,LLC-load-misses",
	"mdflush":        "trace -a -e kprobe:md_flush_request",
	"memleak":        "record -a -e span:kmalloc, where unended is what was not freed",
	"mountsnoop":     "trace -a --span syscalls:mount,umount2",
	"naptime":        "trace -a --span syscalls:nanosleep,clock_nanosleep",
	"nfsdist":        "record -a -e span:nfs_file_read -e span:nfs_file_write, and then kprof report --histogram --event span:nfs_file_read",
	"nfsslower":      "trace -a --span nfs_file_read --span nfs_file_write --slower-than 10ms",
	"offcputime":     "record -a -e off-cpu -o waits.svg",
	"offwaketime":    "record -a -e off-cpu --wakers -o waits.svg",
	"oomkill":        "trace -a -e oom:mark_victim",
	"opensnoop":      "trace -a -e 'kprobe:do_sys_openat2 file=+0($arg2):ustring'",
	"perf-stat-hist": "record -a -e EVENT, and then kprof report --value FIELD --histogram",
	"pidpersec":      "stat -a -I 1s -e sched:sched_process_fork",
	"profile":        "record -a -o cpu.svg",
	"runqlat":        "record -a -e off-cpu, and then kprof report --delays",
	"runqslower":     "record -a -e off-cpu, and then kprof report --delays",
	"shmsnoop":       "trace -a --span syscalls:shmget,shmat,shmdt,shmctl",
	"sigsnoop":       "trace -a -e signal:signal_generate",
	"slabratetop":    "record -a -e span:kmem_cache",
	"softirqs":       "record -a -e span:softirq, and then kprof report --histogram",
	"solisten":       "trace -a --span syscalls:listen",
	"stackcount":     "record -a -e EVENT -c 1 -o counts.svg",
	"stacksnoop":     "trace -a -e kprobe:FUNCTION --stacks",
	"statsnoop":      "trace -a --span syscalls:newfstatat,statx",
	"syncsnoop":      "trace -a --span syscalls:sync,syncfs,fsync,fdatasync",
	"syscount":       "record -a -e span:syscalls, and then kprof report --by syscall",
	"tcpaccept":      "trace -a -e sock:inet_sock_set_state --filter 'oldstate == 3 && newstate == 1'",
	"tcpconnect":     "trace -a -e sock:inet_sock_set_state --filter 'newstate == 2'",
	"tcpconnlat":     "trace -a --label dport --span 'connect=sock:inet_sock_set_state if newstate == 2..sock:inet_sock_set_state if newstate == 1 by skaddr'",
	"tcpdrop":        "trace -a -e skb:kfree_skb --stacks",
	"tcplife":        "trace -a --label dport --span 'life=sock:inet_sock_set_state if newstate == 2..sock:inet_sock_set_state if newstate == 7 by skaddr'",
	"tcpretrans":     "trace -a -e tcp:tcp_retransmit_skb",
	"tcpstates":      "trace -a -e sock:inet_sock_set_state",
	"threadsnoop":    "trace -a -e uprobe:LIBC:pthread_create, LIBC being the path of libc.so.6",
	"tplist":         "list",
	"tpoint":         "trace -a -e SYSTEM:EVENT",
	"uprobe":         "trace -a -e uprobe:PATH:FUNCTION",
	"vfscount":       "stat -a -e 'kprobe:vfs_*'",
	"vfsstat":        "stat -a -I 1s -e kprobe:vfs_read,kprobe:vfs_write,kprobe:vfs_open,kprobe:vfs_create,kprobe:vfs_fsync",
	"wakeuptime":     "record -a -e off-cpu --wakers -o wakers.svg",
	"wqlat":          "record -a -e 'span:workqueue:workqueue_queue_work..workqueue:workqueue_execute_start by work', and then kprof report --histogram",
	"writeback":      "trace -a --span writeback",
	"xfsdist":        "record -a -e 'span:xfs_file_*_iter', and then kprof report --histogram",
	"xfsslower":      "trace -a --span 'xfs_file_*_iter' --slower-than 10ms",
}

// traceCmdPlugins are tracers that trace-cmd has behind -p, with the events that they are here.
var traceCmdPlugins = map[string]string{
	"blk": "span:block", "function": "function:FUNCTION", "function_graph": "graph:FUNCTION", "nop": "EVENT alone",
	"wakeup": "off-cpu, and then kprof report --delays", "wakeup_rt": "off-cpu, and then kprof report --delays",
}

// perfValue is what to say of a value of a flag that is one of perf stat without a value.
func perfValue(c *cobra.Command, flag, value string) string {
	if c.Name() == "stat" && flag == "-d" && strings.Trim(value, "0123456789.") == value {
		return "; perf's -d is -e LLC-loads,LLC-load-misses"
	}
	return ""
}

// otherTool is what to say of an error about an event that is called like a tool: "" for nothing.
func otherTool(err error) string {
	var unknown *event.UnknownError
	if errors.As(err, &unknown) && tools[unknown.Word] != "" {
		return "; try kprof " + tools[unknown.Word]
	}
	return ""
}

// valueKinds says what the kinds of values are, by their names in pflag.
var valueKinds = map[string]string{
	"bool": "true or false", "duration": "a time such as 10s, 500ms or 2m",
	"int": "a number", "int64": "a number", "uint": "a number", "uint64": "a number", "float64": "a number",
}

// unknownFlag adds to an error about a flag which one was meant, or what it wants.
func unknownFlag(c *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	var wants wrongValue
	if errors.As(err, &value) {
		name := "--" + value.GetFlag().Name
		if short := value.GetFlag().Shorthand; short != "" {
			name = "-" + short
		}
		switch kind := value.GetFlag().Value.Type(); {
		case errors.As(err, &wants):
			return usagef("%s %q: %w%s", name, value.GetValue(), wants, perfValue(c, name, value.GetValue()))
		case valueKinds[kind] != "":
			return usagef("%s %q: wants %s", name, value.GetValue(), valueKinds[kind])
		}
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return usageError{err}
	}
	if name, group := unknown.GetSpecifiedName(), unknown.GetSpecifiedShortnames(); group != "" {
		in := ""
		if name != group {
			in = " in -" + group
		}
		return usagef("unknown flag -%s%s%s", name, in, insteadOf(c, name))
	}
	if instead := insteadOf(c, unknown.GetSpecifiedName()); instead != "" {
		return usagef("unknown flag --%s%s", unknown.GetSpecifiedName(), instead)
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	near := spelling.Closest(unknown.GetSpecifiedName(), names)
	for i := range near {
		near[i] = "--" + near[i]
	}
	return usagef("unknown flag --%s%s", unknown.GetSpecifiedName(), spelling.Question(near))
}

// noSuchCommand is for what stands where a command should.
func noSuchCommand(root *cobra.Command, word string) error {
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if use := cmp.Or(elsewhere[word], tools[strings.TrimSuffix(word, ".bt")]); use != "" {
		return usagef("there is no command %q; try kprof %s", word, use)
	}
	if near := spelling.Closest(word, names); len(near) > 0 {
		return usagef("there is no command %q%s", word, spelling.Question(near))
	}
	if st, err := os.Stat(word); err == nil && st.Mode().IsRegular() {
		return usagef("%q is a file, and a command comes first: kprof report %[1]s, kprof view %[1]s", word)
	}
	return usagef("there is no command %q; there are %s", word, strings.Join(names, ", "))
}
