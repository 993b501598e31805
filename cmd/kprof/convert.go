package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"kprof/convert"
	"kprof/convert/infile"
	"kprof/convert/page"
	"kprof/convert/stacks"
	"kprof/perfevent/spelling"
)

func newConvert() *cobra.Command {
	var to conversion
	var info inspection
	var source page.Source
	c := &cobra.Command{
		Use:   "convert [INPUT…] {-o FILE | -f FORMAT}",
		Short: "Convert a recording to a flame graph, pprof, folded stacks and others",
		Long: `Convert reads a recording of kprof record, perf record or trace-cmd, a pprof
profile, folded stacks, a page that kprof wrote, or what perf script, bpftrace, DTrace or
hist triggers of the kernel print of stacks, compressed or not, and writes it in another
format. INPUT is perf.data by default; - is standard input; several are added up. The
ending of FILE picks the format: .pb.gz or .pprof for pprof, .folded for folded stacks,
.svg for a flame graph, .html for a page to look at in any browser; .speedscope.json,
.firefox.json and .trace.json for speedscope, the Firefox Profiler, and Perfetto or
chrome://tracing, with .gz behind it to compress.
With -f and no -o it goes to standard output.`,
		Example: `  kprof convert perf.data -o cpu.pb.gz
  perf record -g -o - -- ls / | kprof convert - -f folded | head
  perf script -i perf.data | kprof convert - -o cpu.svg`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if info.asked() {
				if to.out != "" && to.out != "-" || to.format != "" {
					return usagef("%[1]s converts nothing, without -o and -f: kprof report %[1]s -o FILE writes it to a file", info.flag())
				}
				return info.run(cmd.Context(), os.Stdout, args)
			}
			o, opts, err := to.choose("convert")
			if err != nil {
				return err
			}
			o.source = source
			o.inputs, o.given = []string{inputArg(args)}, readingFlags(cmd, opts.Transforms)
			if len(args) > 1 {
				o.inputs = args
			}
			p, err := loadSum(cmd.Context(), args, opts, to.sym)
			if err != nil {
				return err
			}
			return o.write(p)
		},
	}
	c.Flags().Var(sourceFlag{&source}, "source-url", sourceUsage)
	info.flags(c)
	to.flags(c)
	return c
}

// conversion is the flags of a command that makes one profile of its inputs, and writes it.
type conversion struct {
	sel         selection
	sym         symbolOptions
	svg         svgFlags
	out, format string
}

func (v *conversion) flags(c *cobra.Command) {
	c.Flags().StringVarP(&v.out, "output", "o", "", "`file` to write, - for standard output")
	c.Flags().StringVarP(&v.format, "format", "f", "", "pprof, folded, folded-header, svg, html, text, speedscope, firefox or chrome, whatever the file is called")
	v.sel.flags(c)
	v.sym.flags(c)
	v.svg.flags(c)
}

// choose returns where a command writes to, and how it reads for that.
func (v *conversion) choose(command string) (o output, opts convert.Options, err error) {
	if o, err = chooseProfileOutput(v.out, v.format, command); err != nil {
		return o, opts, err
	}
	if o.svg, err = v.svg.options(o.format); err != nil {
		return o, opts, err
	}
	if opts, err = v.sel.options(); err != nil {
		return o, opts, err
	}
	o.needs(&opts, &v.sym)
	return o, opts, nil
}

func inputArg(args []string) string {
	if len(args) == 0 {
		return defaultInput
	}
	return args[0]
}

// maxArgs is cobra.MaximumNArgs as a usage error.
func maxArgs(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) > n {
			var subs []string
			for _, sub := range c.Commands() {
				subs = append(subs, sub.Name())
			}
			if near := spelling.Closest(args[0], subs); len(near) > 0 {
				return usagef("%s has no command %q%s", c.CommandPath(), args[0], spelling.Question(near))
			}
			return usagef("one argument too many: %q", args[n])
		}
		return nil
	}
}

func (s *symbolOptions) flags(c *cobra.Command) {
	f := c.Flags()
	defer under(f, headingNames)()
	f.StringVar(&s.KallsymsPath, "kallsyms", "", "`file` with the recorded kernel's /proc/kallsyms")
	f.StringVar(&s.GuestKallsyms, "guest-kallsyms", "", "`file` with /proc/kallsyms of the virtual machine whose kernel was recorded (perf kvm)")
	f.StringVar(&s.GuestVmlinux, "guest-vmlinux", "", "`file` of its kernel, with its symbols")
	f.Var(&s.modules, "guest-modules", "`file` with its /proc/modules")
	f.StringVar(&s.GuestKallsyms, "guestkallsyms", "", "") // perf's words
	f.StringVar(&s.GuestVmlinux, "guestvmlinux", "", "")
	f.Var(&s.modules, "guestmodules", "")
	for _, perfs := range []string{"guestkallsyms", "guestvmlinux", "guestmodules"} {
		f.Lookup(perfs).Hidden = true
	}
	f.StringVar(&s.Vmlinux, "vmlinux", "", "`file` of the recorded kernel, with its symbols; without it one is looked for by build id")
	f.BoolVar(&s.Force, "force", false, "use --vmlinux although its build id is not the recorded one")
	f.StringVar(&s.Root, "symfs", "", "`directory` that holds the recorded machine's files")
	f.BoolVar(&s.Inline, "inline", false, "show inlined functions, where debug information tells them")
	f.BoolVar(&s.Lines, "lines", false, "add source files and lines, where debug information tells them")
	f.StringVar(&s.debuginfod, "debuginfod", os.Getenv("DEBUGINFOD_URLS"), "`URLs` of debuginfod servers to ask for debug files (default $DEBUGINFOD_URLS)")
}

// guestModules are what is in a file like /proc/modules.
type guestModules []stacks.Mapping

func (m *guestModules) String() string { return "" }
func (m *guestModules) Type() string   { return "file" }

// Set reads the file.
func (m *guestModules) Set(path string) error {
	f, err := infile.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	modules, err := convert.ReadGuestModules(f)
	*m = append(*m, modules...)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// selection is the flags that say which samples to take.
type selection struct {
	events          []string
	time            string
	pids, tids, cpu string
	comms           []string
	shape           shaping
}

// any reports whether anything is selected.
func (s *selection) any() bool {
	return len(s.events)+len(s.comms) > 0 || s.time+s.pids+s.tids+s.cpu+s.shape.where != ""
}

func (s *selection) flags(c *cobra.Command) {
	s.samplesFlags(c)
	s.shape.flags(c)
}

// samplesFlags are those that say which samples to take, and no more.
func (s *selection) samplesFlags(c *cobra.Command) {
	f := c.Flags()
	defer under(f, headingSamples)()
	f.StringArrayVar(&s.events, "event", nil, "take only these `events`: a list, or given several times; names, short names or globs")
	f.StringVar(&s.pids, "pid", "", "take only these processes, a comma-separated `list`")
	f.StringVar(&s.tids, "tid", "", "take only these threads, a comma-separated `list`")
	f.StringSliceVar(&s.comms, "comm", nil, "take only threads of these `names`")
	f.StringVar(&s.cpu, "cpu", "", "take only these CPUs, a `list` like 0,4-7")
	f.StringVar(&s.time, "time", "", "take only samples from `start,end`, in seconds of the recording's clock; +1.5,+3 counts from the first sample, 10%,20% in shares of the recording")
}

// options checks the flags.
func (s *selection) options() (o convert.Options, err error) {
	o.Events, o.Comms = s.events, s.comms
	if slices.ContainsFunc(s.events, func(e string) bool { return strings.Trim(e, ", ") == "" }) {
		return o, usagef("--event wants the name of an event")
	}
	if o.PIDs, err = numbers("--pid", s.pids); err != nil {
		return o, err
	}
	if o.TIDs, err = numbers("--tid", s.tids); err != nil {
		return o, err
	}
	if o.CPUs, err = numbers("--cpu", s.cpu); err != nil {
		return o, err
	}
	if s.time != "" {
		if o.Time, err = convert.ParseTimeRange(s.time); err != nil {
			return o, usagef("--time %q: %w", s.time, err)
		}
	}
	if s.shape.switches() && len(s.events) > 0 {
		return o, usagef("--off-cpu, --wall-clock and --event exclude each other: times off the CPU are made of all switches")
	}
	if len(s.shape.spans) > 0 && len(s.events) > 0 {
		return o, usagef("--span and --event exclude each other: spans are made of the events that their rule names")
	}
	err = s.shape.addTo(&o)
	return o, err
}

// listOf has each part of a list with commas parsed, "" being none.
func listOf[T any](list string, parse func(part string) ([]T, error)) (all []T, err error) {
	if list == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(list, ",") {
		some, err := parse(part)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// numbers parses a list like "0,4-7".
func numbers(flag, list string) ([]int32, error) {
	return listOf(list, func(part string) (ns []int32, err error) {
		lo, hi, span := strings.Cut(part, "-")
		if !span {
			hi = lo
		}
		a, err1 := strconv.ParseInt(lo, 10, 32)
		b, err2 := strconv.ParseInt(hi, 10, 32)
		if err1 != nil || err2 != nil || b < a || b-a > 1<<16 {
			return nil, usagef("%s %q: %q is not a number or a range", flag, list, part)
		}
		for n := a; n <= b; n++ {
			ns = append(ns, int32(n))
		}
		return ns, nil
	})
}
