package sniff

import (
	"bytes"
	"regexp"
	"slices"

	"kprof/convert/kernellog"
	"kprof/convert/stacktext"
	"kprof/perfevent/lazyregexp"
)

// starts are what text of a kind begins with, after blanks.
var starts = []struct {
	prefix string
	kind   Kind
}{
	{"<svg", SVG},
	{"<!DOCTYPE svg", SVG},
	{"<!DOCTYPE html", HTML},
	{"<!doctype html", HTML},
	{"<!DOCTYPE HTML", HTML},
	{"<html", HTML},
	{"# callgrind format", Callgrind},
	{"# kprof: crc64=", Folded}, // see convert/folded
	{"Analysis of sampling ", MacSample},
	{"heap_v2/", Jemalloc},
	{"--- Execution profile ---", AsyncText},
	{"Flat profile:", Gprof},
	{"sample:\n  event_type: ", SimpleperfText},
	{"sample:\r\n  event_type: ", SimpleperfText},
	{"# To display the perf.data header info", PerfReport},
	{"v8-version,", V8Log},
	{"Function Stack,CPU Time", VTune},
	{"Level,Function Name,Number of Calls,", VisualStudio},
	{"*version\n", ARTTrace},
	{"*version\r\n", ARTTrace},
}

var element = lazyregexp.New(`^<[A-Za-z][\w:-]*[\s>/]`)

// lineForms are what a line of a kind looks like: text is of the kind of which the
// first line is that looks like any.
var lineForms = []struct {
	form func() *regexp.Regexp
	kind Kind
}{
	{lazyregexp.New(`^(heap profile: *|\S+ profile: total )\d`), Pprof},                                                                   // of the old text formats
	{lazyregexp.New(`^positions: (instr|line)\b|^creator: (callgrind|xdebug)\b|^Profile data file '.*' \(creator: callgrind`), Callgrind}, // of pprof -callgrind, Xdebug, older Valgrinds
	// The lines that perf report and diff have above their tables, and those of the table: "  12.34%  comm  file  [k] name".
	{lazyregexp.New(`^# (To display the perf\.data header info|Total Lost Samples: \d|Samples: \S+ +of events? '|Events: \d\S* +\S|(Overhead|Children|Baseline)\W+[A-Z])`), PerfReport},
	{lazyregexp.New(`^ +(\d+\.\d\d% +){1,2}\S.* \[[.kguH]\] \S`), PerfReport},
	// perf annotate, and the dump of records that perf report and script -D print.
	{lazyregexp.New(`^ Percent\b.*\|\s+Source code & Disassembly of |^0x[0-9a-f]+(@\S+)? \[0x[0-9a-f]+\]: event: \d+$`), PerfReport},
	{lazyregexp.New(`^PeriodType: \S+ \S+$|^Showing (nodes accounting for|top \d+ nodes out of) \d|^-{11}\+-{50,}$|^ROUTINE =+ \S`), PprofText},
	{lazyregexp.New(`^goroutine \d+ (gp=\S+ )?.*\[[a-zA-Z].*\]:$`), GoDump},
	{lazyregexp.New(`^Full thread dump \S`), JavaDump},
	{lazyregexp.New(`\sTime and Allocation Profiling Report  \(\w+\)$`), GHCText},
	{lazyregexp.New(`^time_unit: (i|ms|B)$`), Massif},
	// What other tools print to be read, or export.
	{lazyregexp.New(`^(Weight|Running Time|Bytes Used|[A-Z]\w*)\t(Self|Count)\b.*\tSymbol Names?$`), Instruments},
	{lazyregexp.New(`^@ \S+ \[\d+ samples\]$`), PMCStat},
	{lazyregexp.New(`^Thread \d+ \((Thread 0x|LWP \d|process \d).*\)( ".*")?:$`), GDBStacks},
	{lazyregexp.New(`^TID \d+:$`), EUStacks},
	{lazyregexp.New(`^(Current thread|Thread) 0x[0-9a-f]+ (\[.*\] )?\(most recent call first\):$`), FaultHandler},
	{lazyregexp.New(`^TRACE START \[`), XdebugTrace},
	{lazyregexp.New(`^ 0x[0-9a-f]{6,16} : \S+\+0x[0-9a-f]+/0x[0-9a-f]+ \[`), SystemTap},
	{lazyregexp.New(`^Thread (0x[0-9A-F]+|\d+) \((active|idle)[^)]*\)(: ".*")?$`), PySpyDump},
	{lazyregexp.New(`^v [0-9a-f]{5,6} \d$`), Heaptrack},
	{lazyregexp.New(`^# trigger info: hist:(\w+:)?keys=[^:]*stacktrace`), StackHist},
	{lazyregexp.New(`^# trigger info: hist:`), Histogram},
	// Other files of tracefs (kernel/trace: trace_output.c, blktrace.c, trace_mmiotrace.c, ftrace.c, trace_stack.c).
	{lazyregexp.New(`^\d+ \d+ \d+ (type: \d+$|# [0-9a-f]+ |[cf][0-9a-f]{7,15} [cf][0-9a-f]{7,15}$)|^[0-9a-f]{8} [0-9a-f]{8} [0-9a-f]{16} \S`), TracerNumbers},
	{lazyregexp.New(`^ *\d+,\d+ +\d+ +(\d+ +)?\d+\.\d{9} +\d+ +[A-Z]{1,2} +[A-Z]+ `), BlockTrace},
	{lazyregexp.New(`^VERSION 20070824$|^[RW] [1248] \d+\.\d{6} \d+ 0x|^(UN)?MAP \d+\.\d{6} \d+ 0x`), MMIOTrace},
	{lazyregexp.New(`^  Function +Hit( +Time +Avg +s\^2)?$`), FunctionProfile},
	{lazyregexp.New(`^ +Depth +Size +Location +\(\d+ entries\)$`), KernelStack},
	{lazyregexp.New(`^  \S.{43} [ \d]{14}\d [ \d]{14}\d$|^[\w.$]+ \(\d+\)[ RIDMO]*\t(tramp: |->|call_|direct-)|^0x[0-9a-f]+ : "|^commit overrun: \d+$|^\tfield:.*\toffset:\d+;\tsize:\d+;` +
		`|^[prefte]\d*:\w+/\w+ \S|^\[ *\d+\.\d{6}\] (hist:\w+:\w+|trace_[kuf]probe|event_probe|synthetic_events|event filter parse error): error: |^hist:keys=| +correct incorrect  % +Function`), Tracefs},
	{lazyregexp.New(`^ Performance counter stats for |^# +time( +\S+)* +counts unit events$`), PerfStat},
	// The line of a task in stacks that bcc's tools print, and what these say before.
	{lazyregexp.New(`^    - {16}\S.* \(\d+\)$|^\s+(target: {10}|waker: {11})\S|^Sampling at \d+ .* by .*stack|^Tracing (off-CPU|blocked) time \(us\) (of|by) `), BCCStacks},
	{lazyregexp.New(`^\[\d\d:\d\d:\d\d\] Top \d+ stacks with outstanding allocations:$`), BCCLeaks},
	{lazyregexp.New(`^(> ?)*# tracer: |^cpus=\d+$|^CPU \d+ is empty$|^CPU:\d+ \[(LOST \d+ EVENTS|(\d+ )?EVENTS DROPPED)\]$`), Ftrace},
	// "  bash-1977  [000] d..1. 17284.993652: sched_switch: …", with a tgid or not.
	{lazyregexp.New(`^\s*\S.{0,20}-\d+\s+(\(\s*[\d-]+\)\s+)?\[\d+\]\s+([a-zA-Z.#0-9]{4,8}\s+)?\d+(\.\d+)?: `), Ftrace},
	// The latency format: "  bash-1994    0d..1    4us+: ", or with seconds.
	{lazyregexp.New(`^\s*\S.{0,20}-\d+ +\d+[a-zA-Z.#][a-zA-Z.#0-9]{2,7} +(\d+us.?|\d+(\.\d+)?): `), Ftrace},
	// function_graph: the columns are options. Mails have it quoted.
	{lazyregexp.New(`^(> ?)*( *\d+\.\d+ \|)?( *\d+ us \|)? *\d+\)( +\S.{0,20}-\d+ *\|)?( +[a-zA-Z.#0-9]{4,8} \|)? +([!#+*@$]? *[\d.]+ us +)?\|  `), Ftrace},
	{lazyregexp.New(`^ \d+\) +\S.*-\d+ +=> +\S.*-\d+$`), Ftrace},
	{lazyregexp.New(`^CPU:\d+ ts:\d+ [0-9a-f]+  [0-9a-f]+  \S+ <- \S`), Ftrace}, // of pstore
	{kernellog.Begin, KernelLog},
	{lazyregexp.New(`^calling  \S+ @ \d+$`), KernelLog},
	{lazyregexp.New(`^[0-9a-f]{8,16} [A-Za-z?] [\w.$]+(\t\[\w+\])?$`), Kallsyms},
	{lazyregexp.New(`^@[\w.]*\[(.*\]: \d+)?$|^@[\w.]*\[[^\]]*,$`), BPFTrace},
	{lazyregexp.New(`^CPU\s+ID\s+FUNCTION:NAME$`), DTrace},
	{lazyregexp.New("^\\s+[\\w.+-]+`\\S"), DTrace},
}

// asides are kinds that cannot be read, and of which lines stand beside what can be in what somebody wrote
// down of a session: text is of such a kind where no line is of another one.
var asides = []Kind{
	PprofText, GoDump, JavaDump, GHCText, Massif,
	Instruments, PMCStat, GDBStacks, EUStacks, FaultHandler, XdebugTrace, SystemTap, PySpyDump, Heaptrack,
	Histogram, TracerNumbers, BlockTrace, MMIOTrace, FunctionProfile, KernelStack, Tracefs,
}

// shownLines is how many lines are compared with the forms.
const shownLines = 200

func text(head []byte, whole bool) Kind {
	trimmed := bytes.TrimLeft(head, " \t\r\n")
	for _, s := range starts {
		if bytes.HasPrefix(trimmed, []byte(s.prefix)) {
			return s.kind
		}
	}
	switch {
	case len(trimmed) == 0:
		return OtherText
	case bytes.HasPrefix(trimmed, []byte("<?xml")):
		return xml(trimmed)
	case trimmed[0] == '{' || trimmed[0] == '[':
		// Of folded stacks the first frame may be called "[[vdso]]" or "{closure#0}".
		if k := json(trimmed); k != Unknown && (k != OtherJSON || folded(firstLines(head, whole)) != Folded) {
			return k
		}
	}
	if !whole && bytes.IndexByte(head, '\n') < 0 { // nothing else has lines as long
		return Folded
	}
	lines := firstLines(head, whole)
	aside := Unknown
	for i, line := range lines {
		k := formOf(line)
		switch {
		case k == Unknown:
			continue
		case slices.Contains(asides, k):
			if aside == Unknown {
				aside = k
			}
			continue
		case k == Ftrace && framed(lines[i+1:]):
			return PerfScript // without threads, of a program whose name ends in a number, "worker-1"
		case k == Ftrace && bytes.HasPrefix(line, []byte(tracerHead)):
			return belowHead(lines[i+1:])
		}
		return k
	}
	if stacktext.IsPerfScript(lines) {
		return PerfScript
	}
	if aside != Unknown {
		return aside
	}
	k := folded(lines)
	if k == OtherText && element().Match(trimmed) {
		return xml(trimmed)
	}
	return k
}

// formOf is the kind of which a line looks like one, Unknown for none.
func formOf(line []byte) Kind {
	for _, f := range lineForms {
		if f.form().Match(line) {
			return f.kind
		}
	}
	return Unknown
}

// tracerHead is what the tracer's text begins with.
const tracerHead = "# tracer: "

// belowHead is the kind of text of the tracer, of which lines are those below the first one of its head.
func belowHead(lines [][]byte) Kind {
	i := slices.IndexFunc(lines, func(line []byte) bool { return line[0] != '#' })
	if i < 0 {
		return Ftrace
	}
	switch k := formOf(lines[i]); k {
	case TracerNumbers, BlockTrace, MMIOTrace:
		return k
	}
	return Ftrace
}

// framed tells whether a frame is the first of lines, as perf script prints it: trace-cmd report of old
// versions has a tab before some events.
func framed(lines [][]byte) bool {
	return len(lines) > 0 && lines[0][0] == '\t' && stacktext.IsPerfScript(lines[:1]) && formOf(lines[0]) != Ftrace
}

// firstLines returns the first lines that are not empty, without those that may
// have been cut, unless there is no other.
func firstLines(head []byte, whole bool) [][]byte {
	if !whole {
		if i := bytes.LastIndexByte(head, '\n'); i >= 0 {
			head = head[:i]
		}
	}
	var lines [][]byte
	for line := range bytes.Lines(head) {
		if line = bytes.TrimRight(line, " \t\r\n"); len(line) > 0 && len(lines) < shownLines {
			lines = append(lines, line)
		}
	}
	return lines
}

var (
	weighted = lazyregexp.New(`[ \t][-+]?\d+(\.\d*)?([eE][-+]?\d+)?$`)
	numeric  = lazyregexp.New(`^[-+]?[\d.]+([eE][-+]?\d+)?$`)
	twice    = lazyregexp.New(`[ \t]\d+(\.\d*)?[ \t]\d+(\.\d*)?$`)
)

// folded tells folded stacks from other text whose lines end in a number. The
// first line, and half of the first ones at least, have a weight, comments aside. Then either a
// line has frames, "outer;inner 12", or all are single names without blanks,
// "main 12": "hello world 12" alone may be anything, and "12 13" is a table.
func folded(lines [][]byte) Kind {
	n, two, comments, semicolon, blank, named := 0, 0, 0, false, false, false
	for i, line := range lines {
		at := weighted().FindIndex(line)
		if at == nil {
			switch comment := bytes.HasPrefix(line, []byte("#")) || bytes.HasPrefix(line, []byte("//")); {
			case comment && !bytes.HasPrefix(line, []byte("#!")):
				comments++
			case i == 0:
				return OtherText
			}
			continue
		}
		n++
		if twice().Match(line) {
			two++
		}
		semicolon = semicolon || bytes.IndexByte(line[:at[0]], ';') >= 0
		named = named || !numeric().Match(bytes.TrimSpace(line[:at[0]]))
		blank = blank || bytes.ContainsAny(bytes.TrimSpace(line[:at[0]]), " \t") || at[0] == 0
	}
	switch {
	case n == 0 || n*2 < len(lines)-comments:
		return OtherText
	case semicolon && two == n:
		return DiffFolded
	case semicolon, !blank && named && n == len(lines):
		return Folded
	}
	return OtherText
}

func xml(s []byte) Kind {
	switch {
	case bytes.Contains(s, []byte("<trace-query-result")):
		return XCTrace
	case bytes.Contains(s, []byte("<svg")):
		return SVG
	case bytes.Contains(s, []byte("<html")):
		return HTML
	}
	return OtherXML
}

// keys are what JSON of a kind has near its beginning.
var keys = []struct {
	key  string
	kind Kind
}{
	{"speedscope.app/file-format-schema", Speedscope},
	{`"linux-perf-json-version"`, PerfJSON},
	{`"flamebearer"`, Flamebearer},
	{`"head":{"callFrame"`, HeapProfile},
	{`"head":{"functionName"`, CPUProfile}, // of old
	{`{"type": "attached_probes"`, BPFTraceJSON},
	{`{"type": "map", "data"`, BPFTraceJSON},
	{`"rts_arguments"`, GHCJSON},
	{`"gc_samples"`, StackProf},
	{`"dhatFileVersion"`, DHAT},
	{`"recording":{"displayName"`, SafariJSON},
	{`"traceEvents"`, ChromeJSON},
	{`"ph":`, ChromeJSON},
	{`"ph" :`, ChromeJSON},
	{`"preprocessedProfileVersion"`, FirefoxJSON},
	{`"symbolicationNotSupported"`, FirefoxJSON},
	{`"markerSchema"`, FirefoxJSON},
	{`"geckoProfilerVersion"`, FirefoxJSON},
	{`"presymbolicated"`, FirefoxJSON},
	{`"profileJSON"`, FirefoxJSON},            // of old
	{`"ticks":[],"allocations"`, FirefoxJSON}, // of its developer tools, of old
	{`"node_fields":[`, OtherJSON},            // a heap snapshot of V8, which has nodes too
	{`"nodes"`, CPUProfile},
}

// json tells what JSON is of; Unknown if it is none.
func json(s []byte) Kind {
	for _, k := range keys {
		if bytes.Contains(s, []byte(k.key)) {
			return k.kind
		}
	}
	if after := bytes.TrimLeft(s[1:], " \t\r\n"); len(after) > 0 && bytes.IndexByte([]byte("\"{[}]"), after[0]) >= 0 {
		return OtherJSON
	}
	return Unknown
}
