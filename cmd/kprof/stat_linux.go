//go:build !portable

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kprof/perfevent/cgroup"
	"kprof/perfevent/count"
	"kprof/perfevent/event"
	"kprof/perfevent/procfs"
	"kprof/perfevent/spanrule"
	"kprof/record/tracer"
	"kprof/symbolize"
)

// statFlags are the flags of kprof stat as given.
type statFlags struct {
	events     []string
	all        bool
	pids, tids string
	cpus       string
	noInherit  bool
	cgroups    []string
	runs       int
	interval   time.Duration
	duration   time.Duration
	perCPU     bool
	perTask    bool
	perCgroup  bool
	json       bool
	separator  string
	output     string
	probeVia   string
	maxProbes  int
	command    []string

	names []string // of the cgroups that are open
}

func newStat() *cobra.Command {
	var f statFlags
	c := &cobra.Command{
		Use:   "stat [flags] [[--] COMMAND [ARGS…]]",
		Short: "Count events, without recording them",
		Long: `Stat counts events: of a COMMAND that it starts, with all that this starts; of
processes (-p), threads (-t) or cgroups; or of the whole machine (-a, which is also
what it does when nothing else is said). It ends with the command, after a time (-d),
with the processes, or with Ctrl-C, and prints what was counted, with the ratios that
two counts make. With -a, -p, -t or --cgroup a COMMAND only says for how long.

Events (-e, may be repeated) are those of kprof record, probes included, and groups
in braces, which are on the PMU together or not at all: '{cycles,instructions}', or with :W
behind them by themselves where the machine does not take them together. More
events than the PMU has counters for take turns; such counts are scaled up, and say
for which part of the time they were counted. Without -e it counts what perf stat does.

The counts go to standard output, or with a COMMAND, whose that is, to standard error.
The exit code is the command's. See 'kprof help counting'.`,
		Example: `  kprof stat -- ls -R /usr/include
  kprof stat -r 5 -e task-clock,page-faults -- true
  kprof stat -a -e syscalls:sys_enter_openat -I 1s -d 3s`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.command = args
			return f.run(cmd.Context())
		},
	}
	fl := c.Flags()
	fl.SetInterspersed(false) // what follows the command's name is the command's
	fl.StringArrayVarP(&f.events, "event", "e", nil, "`event` to count, or {EVENT,EVENT…} to count together")
	fl.BoolVarP(&f.all, "all-cpus", "a", false, "the whole machine")
	fl.StringVarP(&f.pids, "pid", "p", "", "these processes and what they start, a comma-separated `list`")
	fl.StringVarP(&f.tids, "tid", "t", "", "these threads and what they start, a comma-separated `list`")
	fl.StringSliceVar(&f.cgroups, "cgroup", nil, "the tasks of these cgroups, a comma-separated `list` of paths below /sys/fs/cgroup, globs included")
	fl.BoolVarP(&f.noInherit, "no-inherit", "i", false, "of processes and threads, or the command, not what they start")
	fl.StringVarP(&f.cpus, "cpu", "C", "", "only on these CPUs, a `list` like 0,4-7")
	fl.IntVarP(&f.runs, "repeat", "r", 1, "run the command `N` times, and print means")
	fl.VarP((*milliseconds)(&f.interval), "interval", "I", "print what was counted in each `time`: 1s, 500ms; a number is one of milliseconds, as perf's")
	fl.VarP((*duration)(&f.duration), "duration", "d", "stop after this `time`: 10 or 10s, 500ms, 2m")
	fl.BoolVar(&f.perCPU, "per-cpu", false, "a count for each CPU")
	fl.BoolVar(&f.perTask, "per-task", false, "a count for each thread that runs at the start, with what it starts")
	fl.BoolVar(&f.perCgroup, "per-cgroup", false, "a count for each cgroup of --cgroup")
	fl.BoolVar(&f.json, "json", false, "a JSON object for each count, on a line of its own")
	fl.StringVarP(&f.separator, "field-separator", "x", "", "the fields of perf stat -x, with this `separator` between them")
	fl.StringVarP(&f.output, "output", "o", "", "`file` to write the counts to, - for standard output")
	fl.StringVar(&f.probeVia, "probe-via", "auto", "how probes are made: pmu, tracefs, or auto")
	fl.IntVar(&f.maxProbes, "max-probes", 100, "how many functions a probe with * may match")
	return c
}

// milliseconds is the value of a flag that is a time: a number is one of milliseconds.
type milliseconds time.Duration

func (d *milliseconds) String() string { return (*duration)(d).String() }

func (d *milliseconds) Set(s string) error {
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		s += "ms"
	}
	return (*duration)(d).Set(s)
}

func (*milliseconds) Type() string { return "time" }

// check refuses flags that do not go together.
func (f *statFlags) check() error {
	switch {
	case f.runs < 1:
		return usagef("-r %d: wants a number above 0", f.runs)
	case f.runs > 1 && len(f.command) == 0:
		return usagef("-r repeats a command, and there is none")
	case f.runs > 1 && f.interval > 0:
		return usagef("-r and -I exclude each other")
	case f.json && f.separator != "":
		return usagef("--json and -x exclude each other")
	case f.interval > 0 && f.interval < 10*time.Millisecond:
		return usagef("-I %v: wants at least 10ms", f.interval)
	case f.perCgroup && len(f.cgroups) == 0:
		return usagef("--per-cgroup wants --cgroup with the paths of cgroups, such as --cgroup 'system.slice/*'")
	case f.perTask && (len(f.cgroups) > 0 || len(f.command) > 0 && !f.all && f.pids+f.tids == ""):
		return usagef("--per-task is for what runs already: with -a, -p or -t")
	case f.perTask && f.perCPU:
		return usagef("--per-task and --per-cpu exclude each other")
	}
	return nil
}

// ownCommand reports whether it is the command that is counted.
func (f *statFlags) ownCommand() bool {
	return len(f.command) > 0 && !f.all && f.pids+f.tids == "" && len(f.cgroups) == 0
}

// options checks the flags and makes them a session's options.
func (f *statFlags) options() (o count.Options, err error) {
	if err := f.check(); err != nil {
		return o, err
	}
	via, ok := probeVias[f.probeVia]
	if !ok {
		return o, usagef("--probe-via %q: use auto, pmu or tracefs", f.probeVia)
	}
	if f.maxProbes < 1 {
		return o, usagef("--max-probes %d: wants a number above 0", f.maxProbes)
	}
	o = count.Options{
		PerCPU: f.perCPU, ProbeVia: via, MaxProbes: f.maxProbes, MountTracefs: true,
		Readable: symbolize.DemangleSimple.Readable,
	}
	for _, e := range f.events {
		if e == event.OffCPU || e == event.WallClock || strings.HasPrefix(e, spanrule.Prefix) || tracer.IsEvent(e) {
			return o, usagef("-e %s is recorded and not counted: kprof record -e %[1]s", shellArg(e))
		}
		groups, err := count.ParseGroups(e)
		if err != nil {
			return o, usageError{err}
		}
		o.Groups = append(o.Groups, groups...)
	}
	if o.Target, err = f.target(); err != nil {
		return o, err
	}
	if len(o.Groups) == 0 {
		o.Groups = count.DefaultGroups(o.Target.AllCPUs || len(o.Target.Cgroups) > 0)
	}
	return o, nil
}

func (f *statFlags) target() (t count.Target, err error) {
	t.NoInherit = f.noInherit
	kinds := 0
	for _, is := range []bool{f.all, f.pids+f.tids != "", len(f.cgroups) > 0} {
		if is {
			kinds++
		}
	}
	if kinds > 1 {
		return t, usagef("-a, -p with -t, and --cgroup exclude each other")
	}
	if t.PIDs, err = ids("-p", f.pids); err != nil {
		return t, err
	}
	if t.TIDs, err = ids("-t", f.tids); err != nil {
		return t, err
	}
	t.AllCPUs = f.all || kinds == 0 && len(f.command) == 0
	if t.AllCPUs && f.perTask {
		t.AllCPUs = false
		if t.TIDs, err = procfs.Threads(os.DirFS("/proc"), os.Getpid()); err != nil {
			return t, err
		}
	}
	if f.cpus != "" {
		if t.CPUs, err = procfs.ParseCPUs(f.cpus); err != nil {
			return t, usageError{fmt.Errorf("-C %q: %w", f.cpus, err)}
		}
	}
	open := cgroup.OpenAll
	if f.perCgroup {
		open = cgroup.OpenEach // nothing is summed up of them
	}
	t.Cgroups, f.names, err = open(f.cgroups)
	return t, err
}

// title says what is counted.
func (f *statFlags) title() string {
	switch {
	case f.ownCommand():
		return "'" + strings.Join(f.command, " ") + "'"
	case f.pids != "" && f.tids != "":
		return fmt.Sprintf("processes %s and threads %s", f.pids, f.tids)
	case f.pids != "":
		return "process " + f.pids
	case f.tids != "":
		return "thread " + f.tids
	case len(f.names) > 0:
		return "cgroup " + strings.Join(f.names, ", ")
	case f.cpus != "":
		return "CPU " + f.cpus
	}
	return "the whole machine"
}
