package convert

import (
	"bytes"
	"fmt"

	"kprof/convert/pagefile"
	"kprof/convert/sniff"
)

// UnreadableError reports an input that is known for what it is, and holds no profile
// that can be read.
type UnreadableError struct {
	Kind sniff.Kind
	Line string // the first, of text that is not known
}

// unreadableKinds says what inputs are that are not read.
var unreadableKinds = map[sniff.Kind]string{
	sniff.KernelLog:       "a log of the kernel (dmesg) without initcalls",
	sniff.Kallsyms:        "a list of the kernel's symbols",
	sniff.Speedscope:      "a profile of speedscope",
	sniff.FirefoxJSON:     "a profile of the Firefox Profiler",
	sniff.ChromeJSON:      "a trace in Chrome's JSON",
	sniff.CPUProfile:      "a .cpuprofile of V8 (Chrome, Node.js)",
	sniff.HeapProfile:     "a heap profile of V8 (Chrome, Node.js)",
	sniff.Flamebearer:     "a flame graph of Pyroscope",
	sniff.PerfJSON:        "JSON of perf data convert",
	sniff.OtherJSON:       "JSON",
	sniff.ELF:             "a program or library",
	sniff.Core:            "a core file, one moment of a program",
	sniff.SVG:             "a picture (SVG)",
	sniff.HTML:            "a page (HTML) without a profile of kprof's",
	sniff.XCTrace:         "XML of Xcode's xctrace",
	sniff.OtherXML:        "XML",
	sniff.DiffFolded:      "folded stacks with two weights",
	sniff.SimpleperfProto: "what simpleperf report-sample wrote",
	sniff.SimpleperfText:  "text of simpleperf report-sample",
	sniff.JFR:             "a recording of Java's Flight Recorder",
	sniff.Jitdump:         "a jitdump, the code that a program made at run time",
	sniff.Callgrind:       "a profile of callgrind",
	sniff.MacSample:       "the report of macOS' sample",
	sniff.GoTrace:         "an execution trace of Go",
	sniff.Jemalloc:        "a heap profile of jemalloc",
	sniff.PprofText:       "text that pprof printed",
	sniff.GoDump:          "a dump of Go's goroutines",
	sniff.JavaDump:        "a dump of Java's threads",
	sniff.JavaHprof:       "a profile or heap dump of Java's hprof",
	sniff.AsyncText:       "text of async-profiler",
	sniff.Gprof:           "a profile of gprof",
	sniff.GHCText:         "a profile of GHC",
	sniff.Massif:          "a profile of massif",
	sniff.PerfReport:      "what perf report, diff or annotate, or perf script -D printed",
	sniff.PerfStat:        "what perf stat printed",
	sniff.Histogram:       "what a hist trigger of the kernel's tracer counted",
	sniff.TracerNumbers:   "text of the kernel's tracer with its option raw, hex or bin",
	sniff.BlockTrace:      "what the tracer blk with its option blk_classic, or blkparse, printed",
	sniff.MMIOTrace:       "what the tracer mmiotrace printed",
	sniff.FunctionProfile: "what the kernel's function profiler counted",
	sniff.KernelStack:     "the kernel's deepest stack, of its stack tracer",
	sniff.Tracefs:         "a file of tracefs without events",
	sniff.BCCStacks:       "stacks as a tool of bcc prints them without -f",
	sniff.Zip:             "a zip archive",
	sniff.Tar:             "a tar archive",
	sniff.SQLite:          "an SQLite database",
	sniff.UTF16:           "text in UTF-16",
}

func (e *UnreadableError) Error() string {
	switch e.Kind {
	case sniff.Empty:
		return "it is empty"
	case sniff.OtherText:
		return fmt.Sprintf("it is text, but neither folded stacks (\"outer;inner 12\") nor what perf script, bpftrace, DTrace or the kernel's tracer print, nor a log of the kernel: it begins with %.60q", e.Line)
	}
	return fmt.Sprintf("it is %s, which is not read", unreadableKinds[e.Kind])
}

// unreadable returns what to tell of an input that is not read, nil if it is, or may be.
func (c *content) unreadable() error {
	_, known := unreadableKinds[c.kind]
	switch {
	case c.kind == sniff.OtherText:
		line := bytes.TrimLeft(c.head, " \t\r\n")
		line, _, _ = bytes.Cut(line, []byte("\n"))
		return &UnreadableError{Kind: c.kind, Line: string(line)}
	case c.kind == sniff.KernelLog: // it is, if it has initcalls
	case c.kind == sniff.HTML && pagefile.Is(c.head):
	case known, c.kind == sniff.Empty:
		return &UnreadableError{Kind: c.kind}
	}
	return nil
}
