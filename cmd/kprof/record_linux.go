//go:build !portable

package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kprof/convert/export"
	"kprof/perfevent"
	"kprof/perfevent/cgroup"
	"kprof/perfevent/event"
	"kprof/perfevent/procfs"
	"kprof/perfevent/spanrule"
	"kprof/perfevent/spelling"
	"kprof/record"
	"kprof/record/tracer"
	"kprof/symbolize"
)

// recordFlags are the flags of kprof record as given.
type recordFlags struct {
	events              []string
	all                 bool
	pids, tids          string
	cgroups             []string
	cpus                string
	noInherit           bool
	allCgroups          bool
	frequency, period   uint64
	callGraph           bool
	callGraphMode       string
	callGraphSet        bool
	userChains          bool
	kernelChains        bool
	switchEvents        bool
	data, physData      bool
	weight              bool
	dataPages           bool
	codePages           bool
	userRegs, intrRegs  string
	maxStack            int
	filter              string
	probeVia            string
	maxProbes           int
	allFunctions        bool
	duration            time.Duration
	ring                string
	output, format      string
	noKernelSymbols     bool
	noSymbols           bool
	maxLost             uint64
	maxLostSet          bool
	maxMemory           string
	open                bool
	parts               partFlags
	when                controlFlags
	sel                 selection
	sym                 symbolOptions
	svg                 svgFlags
	command             []string
	live                bool // a profile is made while recording
	frequencySet, csSet bool

	depth    int
	onCPU    bool
	instance string
	tracer   *tracer.Options // of functions; nil for a recording by perf events
	push     recordPush
	trace    *traceFlags // of kprof trace; nil for a recording
	top      *topFlags   // of kprof top, likewise
	viewed   *liveView   // of kprof view, likewise
	recorded uint64      // samples that are kept, once the recording has ended
	ended    int         // exit code of the command
}

func newRecord() *cobra.Command {
	var f recordFlags
	c := &cobra.Command{
		Use:   "record [flags] [[--] COMMAND [ARGS…]]",
		Short: "Record stacks of the machine, of processes or of a command",
		Long: `Record samples events with their callchains: of a COMMAND that it starts, of
processes (-p), threads (-t) or cgroups, or of the whole machine (-a, which is
also what it does when nothing else is said), until the command ends, the time
(-d) is over, or Ctrl-C. With -a, -p, -t or --cgroup a COMMAND only says for how long.
With --open the pages of kprof view show it then.

The ending of the output's name picks the format: .data is perf.data, which perf
reads too; .pb.gz, .folded, .svg and .html are made while recording, without a perf.data.
With --push a store of profiles gets one each period instead (kprof help stores).

Events (-e, may be repeated): cpu-clock, cycles:u, page-faults, r1a8,
cpu/event=0x3c/, sched:sched_switch, 'sched:*', mem:0xADDR/8:rw,
kprobe:FUNC+OFF, kretprobe:FUNC, uprobe:PATH:SYMBOL, usdt:PATH:PROVIDER:NAME; with
fetch arguments after a blank, as in 'kprobe:do_sys_openat2 file=+0($arg2):ustring'
or '$arg1' of a usdt probe. See 'kprof list'.`,
		Example: `  kprof record -a -d 3s -o cpu.pb.gz
  kprof record -e page-faults -c 1 -o faults.folded -- ls /
  kprof record -e sched:sched_switch --filter 'prev_pid != 0' -a -d 1s`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.given(cmd, args)
			if cmd.HasParent() && cmd.Parent().Name() == "doctor" {
				return f.try(cmd.Context())
			}
			return f.run(cmd.Context())
		},
	}
	c.Flags().SetInterspersed(false) // what follows the command's name is the command's
	f.captureFlags(c)
	f.outputFlags(c)
	f.push.flags(c)
	return c
}

// given takes what the flags do not hold: the command, and which were given.
func (f *recordFlags) given(c *cobra.Command, command []string) {
	f.command = command
	f.push.outputSet = c.Flags().Changed("output") || c.Flags().Changed("format")
	f.frequencySet = c.Flags().Changed("freq")
	f.csSet = c.Flags().Changed("count")
	f.callGraphSet = c.Flags().Changed("call-graph")
	f.maxLostSet = c.Flags().Changed("max-lost")
}

// captureFlags are those that say what to record, and how.
func (f *recordFlags) captureFlags(c *cobra.Command) {
	fl := c.Flags()
	defer under(fl, headingRecorded)()
	f.sourceFlags(c)
	fl.StringArrayVarP(&f.events, "event", "e", nil, "`event` to sample: cycles, or cpu-clock where there is no hardware PMU, if none is given")
	fl.VarP((*frequency)(&f.frequency), "freq", "F", "samples per second and CPU, in `Hz`, or max for the most that the kernel takes (default 4000; 999 with --call-graph dwarf)")
	fl.BoolVar(&f.data, "data", false, "record the address of the data that events are about, as page faults are: the field addr; of the processor's events also where it was found: mem_op, mem_lvl and others")
	fl.BoolVar(&f.physData, "phys-data", false, "record the address of the data, and where that is in memory: the field phys_addr")
	fl.BoolVar(&f.dataPages, "data-page-size", false, "record the size of the page that the data is in: data_page_size, and addr")
	fl.BoolVar(&f.codePages, "code-page-size", false, "record the size of the page that the code is in: code_page_size")
	fl.BoolVarP(&f.weight, "weight", "W", false, "record what an access to memory cost, of events that say so: the field weight")
	fl.StringVar(&f.userRegs, "user-regs", "", "record registers of user code, a comma-separated `list` like ax,sp, --user-regs for all, --user-regs=? to see which there are: the fields ax, sp…")
	fl.StringVarP(&f.intrRegs, "intr-regs", "I", "", "record registers of what was interrupted, the kernel too, a `list` as of --user-regs: the fields iregs.ax…")
	fl.Lookup("user-regs").NoOptDefVal, fl.Lookup("intr-regs").NoOptDefVal = allRegisters, allRegisters
	fl.BoolVar(&f.switchEvents, "switch-events", false, "record too when tasks leave their CPU and come back")
	defer under(fl, headingChains)()
	fl.BoolVarP(&f.callGraph, "call-chains", "g", true, "record callchains; --call-chains=false for none")
	fl.StringVar(&f.callGraphMode, "call-graph", "fp", callGraphUsage)
	fl.BoolVar(&f.userChains, "user-callchains", false, "callchains of user code only")
	fl.BoolVar(&f.kernelChains, "kernel-callchains", false, "callchains of the kernel only")
}

// sourceFlags are those that say where events are taken from.
func (f *recordFlags) sourceFlags(c *cobra.Command) {
	fl := c.Flags()
	defer under(fl, headingRecorded)()
	fl.BoolVarP(&f.all, "all-cpus", "a", false, "the whole machine")
	fl.StringVarP(&f.pids, "pid", "p", "", "these processes and what they start, a comma-separated `list`")
	fl.StringVarP(&f.tids, "tid", "t", "", "these threads and what they start, a comma-separated `list`")
	fl.StringSliceVar(&f.cgroups, "cgroup", nil, "the tasks of these cgroups, a comma-separated `list` of paths below /sys/fs/cgroup, globs included")
	fl.BoolVar(&f.allCgroups, "all-cgroups", false, "record the cgroup of each sample: its path and its container are labels then")
	fl.BoolVarP(&f.noInherit, "no-inherit", "i", false, "of processes and threads, or the command, not what they start")
	fl.StringVarP(&f.cpus, "cpu", "C", "", "only on these CPUs, a `list` like 0,4-7")
	fl.Uint64VarP(&f.period, "count", "c", 0, "sample every `N`th event instead")
	fl.StringVar(&f.filter, "filter", "", "what tracepoints must match, an `expression` on their fields")
	fl.StringVarP(&f.ring, "mmap-size", "m", "", "ring of each CPU, a `size` like 8M, or a number of pages (default 2M to 8M, more for copies of stacks, or what may be locked)")
	defer under(fl, headingWhen)()
	fl.VarP((*duration)(&f.duration), "duration", "d", "stop after this `time`: 10 or 10s, 500ms, 2m")
	defer under(fl, headingChains)()
	fl.IntVar(&f.maxStack, "max-stack", 0, "at most `N` frames (default kernel.perf_event_max_stack)")
	defer under(fl, headingProbes)()
	fl.StringVar(&f.probeVia, "probe-via", "auto", "how probes are made: pmu, tracefs, or auto, which is tracefs for fetch arguments and more than four CPUs")
	fl.BoolVar(&f.allFunctions, "all-functions", false, "let ftrace:function without a --filter sample each call of each function of the kernel")
	fl.IntVar(&f.maxProbes, "max-probes", 100, "how many functions a probe with * may match")
}

// outputFlags are those that say where it goes.
func (f *recordFlags) outputFlags(c *cobra.Command) {
	fl := c.Flags()
	defer under(fl, headingResult)()
	fl.StringVarP(&f.output, "output", "o", defaultInput, "`file` to write, - for standard output")
	fl.StringVarP(&f.format, "format", "f", "", "data, pprof, folded, folded-header, svg, html, text, speedscope, firefox or chrome, whatever the file is called")
	fl.BoolVar(&f.noKernelSymbols, "no-kernel-symbols", false, "leave the kernel's symbols out of perf.data, which is then named right on this machine only")
	fl.BoolVar(&f.noSymbols, "no-symbols", false, "leave the names of sampled functions out of perf.data, and the kernel's symbols")
	fl.Uint64Var(&f.maxLost, "max-lost", 0, "fail if more than `N` records are lost; what was recorded is kept")
	fl.StringVar(&f.maxMemory, "max-memory", "", "keep a profile that is made while recording within a `size` like 256M: above it, rare stacks are merged into their callers (default a quarter of what the machine has, or half of what the cgroup may)")
	f.sel.shape.flags(c)
	f.parts.flags(fl)
	f.when.flags(fl)
	f.svg.flags(c)
	fl.BoolVar(&f.open, "open", false, "then look at it in the browser, as with kprof view")
	defer under(fl, headingProbes)()
	fl.IntVar(&f.depth, "depth", 0, "of -e graph:FUNC, record `N` levels of calls: 1 for FUNC alone (default all that it calls)")
	fl.StringVar(&f.instance, "instance", "", "record what is in the rings of an instance of the tracer, `NAME` in /sys/kernel/tracing/instances, and what is written there meanwhile")
	fl.BoolVar(&f.onCPU, "on-cpu", false, "of -e graph:FUNC, do not count the time that the task is off the CPU")
}

// run records.
func (f *recordFlags) run(ctx context.Context) error {
	if f.listsRegisters() {
		return nil
	}
	if f.traces() {
		return f.runTracer(ctx)
	}
	if f.depth != 0 || f.onCPU {
		return usagef("--depth and --on-cpu are for -e graph:FUNC")
	}
	as := f.format
	if f.output == os.DevNull {
		as = cmp.Or(as, string(export.Data)) // to see what recording costs, as with perf
	}
	out, err := chooseOutput(f.output, as)
	if err != nil {
		return err
	}
	if out.format == "" {
		out.format = export.Data
	}
	if out.svg, err = f.svg.options(out.format); err != nil {
		return err
	}
	if out.format == export.Data && !f.open { // which shows what was recorded
		if err := f.sel.shape.forData(); err != nil {
			return err
		}
	}
	if err := f.checkMemory(out); err != nil {
		return err
	}
	if f.push.to != "" {
		return f.recordAndPush(ctx)
	}
	if err := f.checkParts(out); err != nil {
		return err
	}
	if f.open {
		return f.recordAndOpen(ctx, out)
	}
	return f.record(ctx, out)
}

// record records to an output.
func (f *recordFlags) record(ctx context.Context, out output) error {
	opts, err := f.options()
	if err != nil {
		return err
	}
	f.forOutput(&opts, out)
	// Before anything is recorded: nothing that is recorded shall be lost, nor
	// written to what others have put there meanwhile.
	if err := out.prepare(); err != nil {
		return err
	}
	defer func() {
		for _, group := range opts.Target.Cgroups {
			group.Close()
		}
	}()

	ctx, stop := context.WithCancel(ctx)
	defer stop()
	signals := watchSignals()
	f.sym.signals = signals
	if len(f.command) == 0 {
		wait := signals.stopping(ctx, stop)
		f.copyWhereNeeded(&opts, "")
		err := f.session(ctx, stop, opts, out)
		stop()
		wait() // the next signal is for who comes next
		return err
	}
	// Signals end the recording of a command by way of the command.
	cmd, err := launch(f.command, signals, stop)
	if err != nil {
		return err
	}
	program := ""
	if f.ownCommand() {
		opts.Target.PIDs, opts.Target.EnableOnExec = []int{cmd.PID()}, true
		program = cmd.Path()
	}
	opts.Start = cmd.Start
	f.copyWhereNeeded(&opts, program)
	failed := f.session(ctx, stop, opts, out)
	if out.keep != nil && failed == nil && cmd.Outlasts() {
		messagef("the recording has ended, and the page opens when %s does; Ctrl-C ends it", f.command[0])
	}
	err = cmd.result(failed)
	f.ended = cmd.code
	return err
}

// options checks the flags and makes them a session's options.
func (f *recordFlags) options() (o record.Options, err error) {
	if f.frequencySet && f.csSet {
		return o, usagef("-F and -c exclude each other")
	}
	if f.frequencySet && f.frequency == 0 || f.csSet && f.period == 0 {
		return o, usagef("-F and -c want a number above 0")
	}
	if err := f.callers(&o); err != nil {
		return o, err
	}
	o.SwitchRecords, o.Cgroups = f.switchEvents, f.allCgroups
	o.Data, o.PhysData, o.Weight = f.data, f.physData, f.weight
	o.DataPages, o.CodePages = f.dataPages, f.codePages
	if o.UserRegs, err = registerMask("--user-regs", f.userRegs); err != nil {
		return o, err
	}
	if o.IntrRegs, err = registerMask("--intr-regs", f.intrRegs); err != nil {
		return o, err
	}
	o.Frequency, o.Period, o.MaxStack = f.frequency, f.period, f.maxStack
	o.Filter = f.filter
	via, ok := probeVias[f.probeVia]
	if !ok {
		return o, usagef("--probe-via %q: use auto, pmu or tracefs", f.probeVia)
	}
	if f.maxProbes < 1 {
		return o, usagef("--max-probes %d: wants a number above 0", f.maxProbes)
	}
	o.ProbeVia, o.MaxProbes, o.EveryFunction = via, f.maxProbes, f.allFunctions
	o.Readable = symbolize.DemangleSimple.Readable
	o.MountTracefs = true
	if o.RingSize, err = parseRing(f.ring); err != nil {
		return o, err
	}
	if o.Target, err = f.target(); err != nil {
		return o, err
	}
	if f.traces() {
		return o, f.tracerOptions(&o)
	}
	var rules []string
	for _, e := range f.events {
		if probe, ok := strings.CutPrefix(e, "-:"); ok {
			return o, usagef("%s would remove a probe: kprof probe del %s", e, probe)
		}
		if e == event.OffCPU || e == event.WallClock {
			continue
		}
		if strings.HasPrefix(e, spanrule.Prefix) {
			rules = append(rules, e)
			continue
		}
		specs, err := event.ParseSpecs(e)
		if err != nil {
			return o, usageError{err}
		}
		o.Specs = append(o.Specs, specs...)
	}
	if off := f.offCPU(); off != "" {
		if len(o.Specs) > 0 || f.frequencySet && off == event.OffCPU || f.csSet || f.filter != "" || f.cpus != "" || len(f.cgroups) > 0 {
			return o, usagef("-e %s takes every switch of its tasks: with no other event, and without -F, -c, -C, --filter and --cgroup; choose with --where, --comm and the like when it is read", off)
		}
		o.Specs, o.Switches = event.OffCPUSpecs(f.sel.shape.wakers), true
		// What a plain user may have of own tasks are SWITCH records, without a stack.
		only := !f.all && !f.sel.shape.wakers && (perfevent.KernelDenied() || !(&event.Resolver{}).Has(o.Specs[0].Text))
		if only {
			o.Specs = nil
			notef("times off the CPU have the stack of the last sample before, since tracepoints may not be recorded: kprof doctor says what that takes")
		}
		if off == event.WallClock || only {
			clock, err := event.ParseSpecs("cpu-clock")
			if err != nil {
				return o, err
			}
			o.Specs = append(o.Specs, clock...)
			if f.frequencySet { // not of switches
				o.Frequency, o.DefaultFrequency = 0, f.frequency
			}
		}
	} else if f.sel.shape.wakers {
		return o, usagef("--wakers is for -e %s and -e %s", event.OffCPU, event.WallClock)
	}
	if err := f.addSpans(&o, rules); err != nil {
		return o, err
	}
	if len(o.Specs) == 0 {
		spec, err := event.DefaultSpec()
		if err != nil {
			return o, err
		}
		o.Specs = []event.Spec{spec}
	}
	return o, f.addTriggers(&o)
}

// ownCommand reports whether the command is what is recorded, and does not only say for how long.
func (f *recordFlags) ownCommand() bool {
	return len(f.command) > 0 && !f.all && f.pids+f.tids == "" && len(f.cgroups) == 0
}

func (f *recordFlags) target() (t record.Target, err error) {
	t.NoInherit = f.noInherit
	kinds := 0
	if f.all {
		kinds++
		t.AllCPUs = true
	}
	if f.pids != "" || f.tids != "" {
		kinds++
		if t.PIDs, err = ids("-p", f.pids); err != nil {
			return t, err
		}
		if t.TIDs, err = ids("-t", f.tids); err != nil {
			return t, err
		}
	}
	if len(f.cgroups) > 0 {
		kinds++
	}
	switch {
	case kinds > 1:
		return t, usagef("-a, -p with -t, and --cgroup exclude each other")
	case kinds == 0 && len(f.command) == 0:
		t.AllCPUs = true
	}
	if f.cpus != "" {
		if t.CPUs, err = procfs.ParseCPUs(f.cpus); err != nil {
			return t, usageError{fmt.Errorf("-C %q: %w", f.cpus, err)}
		}
	}
	if len(f.cgroups) > 0 {
		t.Cgroups, _, err = cgroup.OpenAll(f.cgroups)
	}
	return t, err
}

func ids(flag, list string) ([]int, error) {
	return listOf(list, func(part string) ([]int, error) {
		n, err := strconv.Atoi(part)
		if flag == "-p" && traceCmdPlugins[part] != "" {
			return nil, usagef("-p is of processes here; trace-cmd's -p %s is -e %s", part, traceCmdPlugins[part])
		}
		if err != nil || n <= 0 {
			return nil, usagef("%s %q: %q is not the number of a process or thread%s", flag, list, part, processesNamed(part))
		}
		return []int{n}, nil
	})
}

// processesNamed offers the processes of a name where a number is wanted.
func processesNamed(name string) string {
	running, _ := procfs.Processes(os.DirFS("/proc"))
	var pids []string
	for _, p := range running {
		if p.Comm == name {
			pids = append(pids, strconv.Itoa(p.PID))
		}
	}
	if len(pids) == 0 {
		return ""
	}
	return fmt.Sprintf("; %s is %s", name, spelling.List(pids[:min(len(pids), spelling.Most)]))
}

// maxRing is the size of a ring at most, in bytes.
const maxRing = 1 << 30

// parseRing parses the size of a ring, in bytes, "" is 0. As of perf's -m, a number alone is one of pages.
func parseRing(s string) (int, error) {
	if strings.Trim(s, "0123456789") != "" || s == "" {
		return parseSize("-m", s, maxRing)
	}
	n, err := strconv.Atoi(s)
	page := os.Getpagesize()
	if err != nil || n <= 0 || n > maxRing/page {
		return 0, usagef("-m %s: wants a size like 512K or 8M, or a number of pages of %d bytes, at most 1G", s, page)
	}
	return n * page, nil
}

// parseSize parses the size that a flag has, in bytes with an optional K, M or G, at most so
// many; "" is 0.
func parseSize(flag, s string, most int) (int, error) {
	if s == "" {
		return 0, nil
	}
	digits := strings.TrimRight(s, "kKmMgGiBb")
	n, err := strconv.Atoi(digits)
	shift := map[string]int{"": 0, "b": 0, "k": 10, "m": 20, "g": 30}
	sh, ok := shift[strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(s[len(digits):]), "b"), "i")]
	if s[len(digits):] == "" {
		ok, sh = true, 0
	}
	if err != nil || !ok || n <= 0 || n > most>>sh {
		return 0, usagef("%s %q: wants a size like 512K or 8M, at most %dG", flag, s, most>>30)
	}
	return n << sh, nil
}
