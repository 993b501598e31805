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
	"biolatency":  "record -a -e span:block, and then kprof report --histogram",
	"biosnoop":    "trace -a --span block",
	"biotop":      "record -a -e span:block, and then kprof report --by comm",
	"execsnoop":   "trace -a -e sched:sched_process_exec",
	"exitsnoop":   "trace -a -e sched:sched_process_exit",
	"ext4slower":  "trace -a --span 'ext4_file_*_iter' --slower-than 10ms",
	"fileslower":  "trace -a --span vfs_read --span vfs_write --slower-than 10ms",
	"funccount":   "stat -a -e kprobe:FUNCTION",
	"funcgraph":   "record -a -e graph:FUNCTION, and then kprof script",
	"funclatency": "record -a -e span:FUNCTION, and then kprof report --histogram",
	"funcslower":  "trace -a --span FUNCTION --slower-than 1ms",
	"functrace":   "record -a -e function:FUNCTION, and then kprof script",
	"hardirqs":    "record -a -e span:irq, and then kprof report --histogram",
	"iolatency":   "record -a -e span:block, and then kprof report --histogram",
	"killsnoop":   "trace -a -e signal:signal_generate",
	"klockstat":   "record -a -e span:lock",
	"llcstat":     "stat -a -e LLC-loads,LLC-load-misses",
	"memleak":     "record -a -e span:kmalloc, where unended is what was not freed",
	"offcputime":  "record -a -e off-cpu -o waits.svg",
	"offwaketime": "record -a -e off-cpu --wakers -o waits.svg",
	"opensnoop":   "trace -a -e 'kprobe:do_sys_openat2 file=+0($arg2):ustring'",
	"profile":     "record -a -o cpu.svg",
	"runqlat":     "record -a -e off-cpu, and then kprof report --delays",
	"runqslower":  "record -a -e off-cpu, and then kprof report --delays",
	"slabratetop": "record -a -e span:kmem_cache",
	"softirqs":    "record -a -e span:softirq, and then kprof report --histogram",
	"stackcount":  "record -a -e EVENT -c 1 -o counts.svg",
	"syscount":    "record -a -e span:syscalls, and then kprof report --by syscall",
	"tplist":      "list",
}

// traceCmdPlugins are tracers that trace-cmd has behind -p, with the events that they are here.
var traceCmdPlugins = map[string]string{"function": "function:FUNCTION", "function_graph": "graph:FUNCTION"}

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
			return usagef("%s %q: %w", name, value.GetValue(), wants)
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
	if use := cmp.Or(elsewhere[word], tools[word]); use != "" {
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
