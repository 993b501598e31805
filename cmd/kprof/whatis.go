package main

import "kprof/convert/sniff"

// notRead says what an input is that kprof does not read, and what to do instead.
func notRead(kind sniff.Kind) string {
	if tail, ok := instead[kind]; ok {
		return "it is " + kind.Unread() + tail
	}
	return "it is " + kind.Unread() + ", which kprof does not read"
}

// instead goes on after what an input is.
var instead = map[sniff.Kind]string{
	sniff.KernelLog:       ": boot with initcall_debug among the kernel's parameters, and log_buf_len=4M to keep all lines",
	sniff.Kallsyms:        ": give it with --kallsyms, beside a recording",
	sniff.Speedscope:      ", which kprof writes but does not read: give what it was made from, or open it in speedscope.app",
	sniff.FirefoxJSON:     ", which kprof writes but does not read: give what it was made from, or open it in profiler.firefox.com",
	sniff.ChromeJSON:      ", which kprof writes but does not read: give what it was made from, or open it in ui.perfetto.dev",
	sniff.CPUProfile:      ", which kprof does not read: open it in speedscope.app",
	sniff.HeapProfile:     ", which kprof does not read: open it in speedscope.app",
	sniff.Flamebearer:     ": 'kprof fetch' asks it for the profile, which kprof reads",
	sniff.PerfJSON:        ": give the perf.data that it was made from",
	sniff.ELF:             ", not a recording of one: record it with 'kprof record -- PROGRAM'; symbols of a kernel are given with --vmlinux",
	sniff.Core:            ": read it with gdb",
	sniff.SVG:             ": give the profile that it was made from",
	sniff.HTML:            ": open it in a browser, or give the profile that it was made from",
	sniff.XCTrace:         ": inferno-collapse-xctrace makes folded stacks of it, which kprof reads",
	sniff.DiffFolded:      ": compare the two profiles that it was made from with 'kprof diff'",
	sniff.SimpleperfProto: ": give the perf.data that it was made from, or text of simpleperf's report_sample.py",
	sniff.SimpleperfText:  ": give the perf.data that it was made from, or text of simpleperf's report_sample.py",
	sniff.JFR:             ": async-profiler's jfrconv makes folded stacks (-o collapsed) or pprof of it, which kprof reads",
	sniff.Jitdump:         ": it is read by itself, where the recording names it",
	sniff.Callgrind:       ", which kprof does not read: open it in KCachegrind",
	sniff.MacSample:       ": inferno-collapse-sample makes folded stacks of it, which kprof reads",
	sniff.GoTrace:         ": 'go tool trace -pprof=TYPE' (net, sync, syscall or sched) makes pprof profiles of it, which kprof reads",
	sniff.Jemalloc:        ": 'jeprof --collapsed PROGRAM FILE' makes folded stacks of it, which kprof reads",
	sniff.PprofText:       ": give the profile that it was made from",
	sniff.GoDump:          ": /debug/pprof/goroutine without debug=2 is a profile of them, which kprof reads",
	sniff.JavaDump:        ": FlameGraph's stackcollapse-jstack.pl makes folded stacks of it, which kprof reads",
	sniff.JavaHprof:       ", which kprof does not read: async-profiler writes folded stacks (-o collapsed), which it reads",
	sniff.AsyncText:       ": with -o collapsed it writes folded stacks, which kprof reads",
	sniff.Gprof:           ", which has no stacks: kprof record -- PROGRAM records them",
	sniff.GHCText:         ": inferno-collapse-ghcprof makes folded stacks of it, which kprof reads",
	sniff.GHCJSON:         ": of what +RTS -p writes inferno-collapse-ghcprof makes folded stacks, which kprof reads",
	sniff.Massif:          ", which kprof does not read: print it with ms_print",
	sniff.PerfReport:      ": give its perf.data, or what perf script prints",
	sniff.PerfStat:        ", which has counts and no stacks: kprof record -e EVENT records where an event happens",
	sniff.Histogram:       ", which has sums and no events: kprof record -e EVENT records these, with their fields and stacks",
	sniff.TracerNumbers:   ", which has numbers in place of names: write noraw, nohex or nobin to trace_options, and take trace again",
	sniff.BlockTrace:      ": write noblk_classic to trace_options, and take trace again, or record with kprof record -e 'block:*'",
	sniff.MMIOTrace:       ", which kprof does not read; it reads the events of rwmmio",
	sniff.FunctionProfile: ", which has sums and no callers: kprof record -e graph:FUNCTION has the times of functions, with what they call",
	sniff.RingPages:       ": 'trace-cmd restore FILE…' makes a trace.dat of those of all CPUs, which kprof reads",
	sniff.Tracefs:         ": give what its trace or trace_pipe has, or kprof record -e EVENT",
	sniff.BCCStacks:       ": with -f it prints folded stacks, which kprof reads",
	sniff.BCCLeaks:        ": kprof record -e span:malloc:LIBC finds what is not freed, by who asked for it (kprof help spans)",
	sniff.SystemTap:       ": FlameGraph's stackcollapse-stap.pl makes folded stacks of it, which kprof reads",
	sniff.PySpyDump:       ": py-spy record -f raw makes folded stacks of many, which kprof reads",
	sniff.Heaptrack:       ": 'heaptrack_print -F FILE' makes folded stacks of it, which kprof reads",
	sniff.BPFTraceJSON:    ": without -f json it prints text, which kprof reads",
	sniff.StackProf:       ": 'stackprof --stackcollapse' makes folded stacks of it, which kprof reads, if it was taken with raw: true",
	sniff.DHAT:            ", which kprof does not read: open it in dh_view.html",
	sniff.SafariJSON:      ", which kprof does not read: open it in speedscope.app",
	sniff.V8Log:           ", which kprof does not read: kprof record -- node --perf-basic-prof FILE.js records what node did, with names",
	sniff.VTune:           ": inferno-collapse-vtune makes folded stacks of it, which kprof reads",
	sniff.VisualStudio:    ": inferno-collapse-vsprof makes folded stacks of it, which kprof reads",
	sniff.Instruments:     ": of XML that 'xctrace export' writes inferno-collapse-xctrace makes folded stacks, which kprof reads",
	sniff.PMCStat:         ": FlameGraph's stackcollapse-pmc.pl makes folded stacks of it, which kprof reads",
	sniff.ARTTrace:        ", which kprof does not read: open it in profiler.firefox.com",
	sniff.GDBStacks:       ": FlameGraph's stackcollapse-gdb.pl makes folded stacks of it, which kprof reads",
	sniff.EUStacks:        ": FlameGraph's stackcollapse-elfutils.pl makes folded stacks of it, which kprof reads",
	sniff.FaultHandler:    ": FlameGraph's stackcollapse-faulthandler.pl makes folded stacks of it, which kprof reads",
	sniff.XdebugTrace:     ": FlameGraph's stackcollapse-xdebug.php makes folded stacks of it, which kprof reads",
	sniff.Zip:             ": unpack it, and give what is in it",
	sniff.Tar:             ": unpack it, and give what is in it",
	sniff.UTF16:           ": recode it with 'iconv -f UTF-16 -t UTF-8'",
}
