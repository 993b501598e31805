package main

import "kprof/convert/sniff"

// unread says of what kprof does not read what it is, and what to do instead.
var unread = map[sniff.Kind]string{
	sniff.Empty:           "it is empty",
	sniff.KernelLog:       "it is a log of the kernel (dmesg) without initcalls: boot with initcall_debug among the kernel's parameters, and log_buf_len=4M to keep all lines",
	sniff.Kallsyms:        "it is a list of the kernel's symbols: give it with --kallsyms, beside a recording",
	sniff.Speedscope:      "it is a profile of speedscope, which kprof writes but does not read: give what it was made from, or open it in speedscope.app",
	sniff.FirefoxJSON:     "it is a profile of the Firefox Profiler, which kprof writes but does not read: give what it was made from, or open it in profiler.firefox.com",
	sniff.ChromeJSON:      "it is a trace in Chrome's JSON, which kprof writes but does not read: give what it was made from, or open it in ui.perfetto.dev",
	sniff.CPUProfile:      "it is a .cpuprofile of V8 (Chrome, Node.js), which kprof does not read: open it in speedscope.app",
	sniff.OtherJSON:       "it is JSON, which kprof does not read",
	sniff.ELF:             "it is a program or library, not a recording of one: record it with 'kprof record -- PROGRAM'; symbols of a kernel are given with --vmlinux",
	sniff.Core:            "it is a core file, one moment of a program: read it with gdb",
	sniff.SVG:             "it is a picture (SVG): give the profile that it was made from",
	sniff.HTML:            "it is a page (HTML): open it in a browser, or give the profile that it was made from",
	sniff.XCTrace:         "it is XML of Xcode's xctrace: inferno-collapse-xctrace makes folded stacks of it, which kprof reads",
	sniff.OtherXML:        "it is XML, which kprof does not read",
	sniff.DiffFolded:      "it is folded stacks with two weights, of difffolded.pl: compare the two profiles that it was made from with 'kprof diff'",
	sniff.SimpleperfProto: "it is what simpleperf report-sample --protobuf wrote: give the perf.data that it was made from, or text of simpleperf's report_sample.py",
	sniff.SimpleperfText:  "it is text of simpleperf report-sample: give the perf.data that it was made from, or text of simpleperf's report_sample.py",
	sniff.JFR:             "it is a recording of Java's Flight Recorder: async-profiler's jfrconv makes folded stacks (-o collapsed) or pprof of it, which kprof reads",
	sniff.Jitdump:         "it is a jitdump, the code that a program made at run time: it is read by itself, where the recording names it",
	sniff.Callgrind:       "it is a profile of callgrind, which kprof does not read: open it in KCachegrind",
	sniff.MacSample:       "it is the report of macOS' sample: inferno-collapse-sample makes folded stacks of it, which kprof reads",
	sniff.GoTrace:         "it is an execution trace of Go: 'go tool trace -pprof=TYPE' (net, sync, syscall or sched) makes pprof profiles of it, which kprof reads",
	sniff.Jemalloc:        "it is a heap profile of jemalloc: 'jeprof --collapsed PROGRAM FILE' makes folded stacks of it, which kprof reads",
	sniff.PerfReport:      "it is what perf report, diff or annotate, or perf script -D printed: give its perf.data, or what perf script prints",
	sniff.PerfStat:        "it is what perf stat printed, which has counts and no stacks: kprof record -e EVENT records where an event happens",
	sniff.Histogram:       "it is what a hist trigger of the kernel's tracer counted, which has sums and no events: kprof record -e EVENT records these, with their fields and stacks",
	sniff.BCCStacks:       "it is stacks as a tool of bcc (profile, offcputime) prints them to be read: with -f it prints folded stacks, which kprof reads",
	sniff.Zip:             "it is a zip archive: unpack it, and give what is in it",
	sniff.Tar:             "it is a tar archive: unpack it, and give what is in it",
	sniff.SQLite:          "it is an SQLite database, which kprof does not read",
	sniff.UTF16:           "it is text in UTF-16: recode it with 'iconv -f UTF-16 -t UTF-8'",
}
