// Package sniff says what an input is by how it begins.
package sniff

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// Kind is what an input is.
type Kind uint8

// What an input may be.
const (
	Unknown Kind = iota
	Empty

	// What kprof reads.
	Recording // a perf.data, in file or pipe mode
	Pprof
	Folded // folded stacks
	PerfScript
	BPFTrace
	DTrace
	StackHist // what a hist trigger of the kernel's tracer counted by stack
	TraceDat  // of trace-cmd
	Ftrace    // the text of the kernel's tracer

	// What is to be decompressed first.
	Gzip
	Zstd
	Xz
	Bzip2
	LZ4
	Atrace // what atrace -z prints: a line "TRACE:", and the text of a trace as zlib

	// What may have to do with profiles but is none that kprof reads, see Kind.Unread.
	KernelLog // which is read where it has initcalls
	Kallsyms
	Speedscope
	FirefoxJSON
	ChromeJSON
	CPUProfile  // of V8
	HeapProfile // of V8
	Flamebearer // a flame graph as Pyroscope answers with
	PerfJSON    // of perf data convert --to-json
	OtherJSON
	ELF
	Core
	SVG
	HTML
	XCTrace // Instruments' XML
	OtherXML
	DiffFolded // folded stacks with two weights
	SimpleperfProto
	SimpleperfText // of simpleperf report-sample
	JFR
	Jitdump
	Callgrind
	MacSample
	GoTrace    // an execution trace of Go's runtime
	Jemalloc   // a heap profile of jemalloc
	PprofText  // what pprof -top, -traces, -raw and their like print
	GoDump     // Go's goroutines with debug=2, or what a panic prints
	JavaDump   // the threads of Java, of jstack
	JavaHprof  // of Java's hprof, text or a dump of the heap
	AsyncText  // async-profiler's own text
	Gprof      // gmon.out, and what gprof prints
	GHCText    // what a Haskell program writes with +RTS -p
	Massif     // of Valgrind
	PerfReport // of perf report, diff or annotate, or script -D
	PerfStat
	Histogram       // of a hist trigger of the kernel's tracer
	TracerNumbers   // the tracer's text with its option raw, hex or bin
	BlockTrace      // of the tracer blk with blk_classic, or of blkparse
	MMIOTrace       // of the tracer mmiotrace
	FunctionProfile // of the kernel's function profiler, trace_stat/functionN
	KernelStack     // tracefs' stack_trace
	RingPages       // of the tracer's ring buffer, without what reads them
	Tracefs         // another file of tracefs, with settings or counts
	BCCStacks       // of bcc's profile, offcputime and their like, without -f
	BCCLeaks        // of bcc's memleak
	SystemTap       // stacks of print_stack and its like
	PySpyDump       // of py-spy dump
	Heaptrack       // of KDE's heaptrack
	BPFTraceJSON    // of bpftrace -f json
	Perfetto        // a trace of Perfetto, as protobuf
	OTLP            // profiles of OpenTelemetry, as protobuf
	Nettrace        // of .NET's EventPipe
	GHCJSON         // of +RTS -pj
	StackProf       // of Ruby's stackprof, as JSON
	DHAT            // of Valgrind, or of a program in Rust
	SafariJSON      // of Safari's Web Inspector
	V8Log           // of node --prof
	VTune           // CSV
	VisualStudio    // CSV
	Instruments     // a call tree copied from Instruments
	PMCStat         // of FreeBSD's pmcstat -G
	ARTTrace        // a method trace of Android's runtime
	GDBStacks       // backtraces of all threads
	EUStacks        // of eu-stack
	FaultHandler    // of Python's faulthandler
	XdebugTrace     // of PHP's Xdebug
	Zip
	Tar
	SQLite
	UTF16
	OtherText
)

// HeadSize is how much of an input is to be looked at, where there is that much.
const HeadSize = 64 << 10

// MagicSize is how much of an input Magic looks at.
const MagicSize = 512

// Of says what an input is that begins with head; whole says that this is all of
// it.
func Of(head []byte, whole bool) Kind {
	if len(head) == 0 {
		return Empty
	}
	if k := Magic(head); k != Unknown {
		return k
	}
	if !isText(head, whole) {
		switch {
		case isRingPage(head):
			return RingPages
		case isPerfetto(head):
			return Perfetto
		case isOTLP(head):
			return OTLP
		}
		// Names in folded stacks are whatever a program calls itself.
		if bytes.IndexByte(head, 0) < 0 && folded(firstLines(head, whole)) == Folded {
			return Folded
		}
		return console(head, whole)
	}
	return text(bytes.TrimPrefix(head, ByteOrderMark), whole)
}

// ByteOrderMark is what may stand before text in UTF-8, and is no part of it.
var ByteOrderMark = []byte("\xef\xbb\xbf")

// magics are what files of a kind begin with.
var magics = []struct {
	at    int
	bytes string
	kind  Kind
}{
	{0, "PERFILE2", Recording},
	{0, "2ELIFREP", Recording},
	{0, "PERFFILE", Recording},
	{0, "\x1f\x8b\x08", Gzip},
	{0, "\x28\xb5\x2f\xfd", Zstd},
	{0, "\xfd7zXZ\x00", Xz},
	{0, "BZh", Bzip2},
	{0, "\x04\x22\x4d\x18", LZ4},
	{0, "\x17\x08\x44tracing", TraceDat},
	{0, "SIMPLEPERF", SimpleperfProto},
	{0, "JAVA PROFILE 1.0.", JavaHprof},
	{0, "gmon\x01\x00\x00\x00", Gprof},
	{0, "gmon\x00\x00\x00\x01", Gprof},
	{0, "FLR\x00", JFR},
	{0, "SLOW\xf2\x00", ARTTrace}, // versions 2 and 3, streamed (runtime/trace.h)
	{0, "SLOW\xf3\x00", ARTTrace},
	{0, "Nettrace", Nettrace},
	{0, "DTiJ", Jitdump},
	{0, "JiTD", Jitdump},
	{0, "PK\x03\x04", Zip},
	{0, "SQLite format 3\x00", SQLite},
	{0, "\xff\xfe", UTF16},
	{0, "\xfe\xff", UTF16},
	{257, "ustar", Tar},
	{0, "heap profile:", Pprof},
	{0, "goroutine profile:", Pprof},
	{0, "threadcreate profile:", Pprof},
	{0, "--- contentionz ", Pprof}, // google/pprof, profile/legacy_profile.go
	{0, "--- heapz ", Pprof},       // legacy_java_profile.go
	{0, "--- contention:", Pprof},
	{0, "--- mutex:", Pprof},
	{0, "--- threadz ", Pprof},
	{0, "--- Thread ", Pprof},
}

// Magic says what an input is that begins with head, as far as its first bytes
// tell: Unknown may be text.
func Magic(head []byte) Kind {
	for _, m := range magics {
		if len(head) >= m.at && bytes.HasPrefix(head[m.at:], []byte(m.bytes)) {
			return m.kind
		}
	}
	if AtraceData(head) >= 0 {
		return Atrace
	}
	if bytes.HasPrefix(head, []byte("\x7fELF")) {
		return elf(head)
	}
	switch {
	case isGoTrace(head):
		return GoTrace
	case isProfile(head) || isLegacyCPU(head):
		return Pprof
	}
	return Unknown
}

// AtraceData is where what is compressed begins in what atrace -z prints, -1 where head is none
// of that. Before it are lines of what atrace does (frameworks/native, cmds/atrace).
func AtraceData(head []byte) int {
	head = head[:min(len(head), MagicSize)]
	i := bytes.Index(head, []byte("TRACE:"))
	if i < 0 || i > 0 && head[i-1] != '\n' || i > 0 && !bytes.HasPrefix(head, []byte("capturing trace")) {
		return -1
	}
	i += len("TRACE:")
	for i < len(head) && head[i] == '\r' {
		i++
	}
	if i+2 >= len(head) || head[i] != '\n' || head[i+1] != 0x78 || (uint(head[i+1])<<8|uint(head[i+2]))%31 != 0 { // RFC 1950, 2.2
		return -1
	}
	return i + 1
}

// isGoTrace tells whether head is the header of an execution trace of Go: 16 bytes, "go 1.21 trace"
// and zeros (Go's internal/trace/version).
func isGoTrace(head []byte) bool {
	const size = 16
	return len(head) >= size && bytes.HasPrefix(head, []byte("go 1.")) && bytes.Contains(head[:size], []byte(" trace\x00"))
}

// elf tells core files from programs, by e_type.
func elf(head []byte) Kind {
	const dataEncoding, bigEndian, typeOffset, core = 5, 2, 16, 4
	if len(head) < typeOffset+2 {
		return ELF
	}
	t := head[typeOffset : typeOffset+2]
	if head[dataEncoding] == bigEndian && t[0] == 0 && t[1] == core || head[dataEncoding] != bigEndian && t[0] == core && t[1] == 0 {
		return Core
	}
	return ELF
}

// isText tells whether all that is seen is text: UTF-8 or any 8-bit code, without
// control characters but those of terminals and of lines.
func isText(head []byte, whole bool) bool {
	if !whole { // a character may have been cut
		for i := 0; i < utf8.UTFMax && len(head) > 0 && head[len(head)-1] >= utf8.RuneSelf; i++ {
			head = head[:len(head)-1]
		}
	}
	return !slices.ContainsFunc(head, isControl)
}

// isControl tells control characters but those of terminals and of lines.
func isControl(c byte) bool {
	return c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != '\x1b'
}

// console tells a log of the kernel, or its tracer's text, in what a serial console has shown, of which
// one byte in 16 at most is a control character: boot loaders count down with backspaces, and what comes
// while a line is set up is noise. It is TracerNumbers where numbers in binary are below the head of the tracer's
// text, and Unknown for anything else.
func console(head []byte, whole bool) Kind {
	shown := slices.DeleteFunc(slices.Clone(head), isControl)
	if (len(head)-len(shown))*16 > len(head) {
		if bytes.HasPrefix(head, []byte(tracerHead)) {
			return TracerNumbers
		}
		return Unknown
	}
	for _, line := range firstLines(shown, whole) {
		if k := formOf(line); k == KernelLog || k == Ftrace {
			return k
		}
	}
	return Unknown
}
