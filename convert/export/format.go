// Package export writes profiles in every format that there is, chosen by its name or by
// the ending of a file's.
//
//	Of      says which format the name of a file stands for
//	Needs   adds to the options of a conversion what a format shows besides stacks
//	Write   writes a Profile
package export

import (
	"slices"
	"strings"

	"kprof/convert"
	"kprof/convert/replay"
)

// Format is what a profile is written as.
type Format string

const (
	Pprof  Format = "pprof" // for go tool pprof, compressed
	Folded Format = "folded"
	// FoldedHeader is Folded with a comment ahead that has sums over blocks of time, to be
	// compared as well as a recording.
	FoldedHeader Format = "folded-header"

	HTML Format = "html" // a page to look at it
	SVG  Format = "svg"  // a flame graph
	Text Format = "text" // a table of functions

	// What other viewers open.
	Speedscope Format = "speedscope"
	Firefox    Format = "firefox" // Firefox Profiler
	Chrome     Format = "chrome"  // Perfetto, chrome://tracing

	// Data is perf.data: a recording, which a profile cannot be written as.
	Data Format = "data"
)

// Formats are all that a profile can be written as.
var Formats = []Format{Pprof, Folded, FoldedHeader, SVG, HTML, Text, Speedscope, Firefox, Chrome}

// endings of file names and what they stand for.
var endings = []struct {
	suffix string
	format Format
}{
	{".pb.gz", Pprof},
	{".pprof", Pprof},
	{".folded", Folded},
	{".html", HTML},
	{".svg", SVG},
	{".data", Data},
	{".speedscope.json", Speedscope},
	{".firefox.json", Firefox},
	{".trace.json", Chrome},
}

// Of returns the format that the ending of a file's name stands for, "" where it is
// none, and whether the file is to be compressed: what other viewers open may be, with
// .gz behind the name.
func Of(name string) (f Format, gzip bool) {
	plain, compressed := strings.CutSuffix(name, ".gz")
	for _, e := range endings {
		if compressed && e.format.forViewer() && strings.HasSuffix(plain, e.suffix) {
			return e.format, true
		}
		if strings.HasSuffix(name, e.suffix) {
			return e.format, false
		}
	}
	return "", false
}

// CompressedAs reports whether a file of that name is to be compressed as f.
func (f Format) CompressedAs(name string) bool {
	return f.forViewer() && strings.HasSuffix(name, ".gz")
}

// Known reports whether f is one of the Formats, or Data.
func (f Format) Known() bool { return f == Data || slices.Contains(Formats, f) }

// Binary reports whether what is written as f is no text.
func (f Format) Binary() bool { return f == Pprof || f == Data }

// forViewer reports whether f is what another viewer opens.
func (f Format) forViewer() bool { return viewers[f] != nil }

// NamesOnly reports whether functions are shown without the source lines in them.
func (f Format) NamesOnly() bool { return f == Folded || f == FoldedHeader || f == SVG || f == Text }

// Needs adds to the options of a conversion what a profile written as f shows besides
// stacks: threads, and what they did when, or how much of it in blocks of time. byTime is for
// an SVG in the order of time.
func (f Format) Needs(o *convert.Options, byTime bool) {
	o.Blocks = f == Pprof || f == FoldedHeader
	if f.forViewer() || f == HTML || f == SVG && byTime {
		o.Times = true
		o.Labels |= replay.LabelTID | replay.LabelCPU
	}
}
