package annotate

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"strings"

	"kprof/convert/printable"
	"kprof/convert/stacks"
)

// TextOptions say how a Listing is shown.
type TextOptions struct {
	Options
	Width   int  // of lines, in characters. Default: any
	Color   bool // escape sequences of a terminal: what is hot stands out
	Context int  // how many rows are shown around those with samples. Default: all
	// Text returns the text of a source line, "" if it is not at hand. Default: none is.
	Text func(file string, line int) string
}

// Escape sequences, and the shares of a function from which they are used: as perf annotate
// colours instructions.
const (
	sgrHot, hotShare   = "31", .05
	sgrWarm, warmShare = "32", .005
	sgrSource          = "2"
)

// maxSourceColumn is how wide a column of sources is at most.
const maxSourceColumn = 32

// WriteText writes the listings of a Set's annotation: instructions with what they cost
// themselves, with what they call, and the shares of it in the function; with those of
// another source line than before the line: beside them, or with its text above.
func (a *Annotation) WriteText(w io.Writer, s *stacks.Set, o TextOptions) error {
	b := bufio.NewWriter(w)
	e := s.Events[o.Event]
	unit := e.Values[o.Column].Unit
	value := func(v int64) string { return printable.Value(v, unit) }
	for i, l := range a.Listings {
		if i > 0 {
			fmt.Fprintln(b)
		}
		fmt.Fprintf(b, "Function: %s in %s", printable.Text(l.Function), printable.Text(l.Path))
		if l.Mapping.BuildID != "" {
			fmt.Fprintf(b, ", build id %s", l.Mapping.BuildID)
		}
		fmt.Fprintf(b, "\nEvent: %s, %s\n", printable.Text(e.ColumnName(o.Column)), printable.Text(e.Values[o.Column].Words()))
		fmt.Fprintf(b, "Total: %s self, %s with what it calls, of %s (%s)\n\n", value(l.Self), value(l.Cum), value(a.Total), percent(l.Cum, a.Total))
		l.write(b, value, o)
	}
	return b.Flush()
}

// share is part of whole, 0 of nothing.
func share(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

func percent(part, whole int64) string { return fmt.Sprintf("%.2f%%", 100*share(part, whole)) }

// cell is a value and its share, blank for none.
func cell(v, whole int64, value func(int64) string) string {
	if v == 0 {
		return strings.Repeat(" ", 18)
	}
	return fmt.Sprintf("%10s %7s", value(v), percent(v, whole))
}

func (l *Listing) write(b *bufio.Writer, value func(int64) string, o TextOptions) {
	line := func(text, sgr string) {
		if o.Width > 0 {
			text = printable.Shorten(text, o.Width)
		}
		text = strings.TrimRight(text, " ")
		if o.Color && sgr != "" {
			text = "\x1b[" + sgr + "m" + text + "\x1b[m"
		}
		b.WriteString(text + "\n")
	}
	column := 0 // of sources: wide enough for all, where they have no text
	if o.Text == nil {
		for _, r := range l.Rows {
			column = min(max(column, printable.Width(r.Source.describe(l.Function, nil))), maxSourceColumn)
		}
	}
	source := func(text string) string {
		if column == 0 {
			return ""
		}
		return printable.Column(text, column) + "  "
	}
	line(fmt.Sprintf("%10s %7s %10s %7s  %6s  %sinstruction", "self", "self%", "cum", "cum%", "offset", source("source")), "")
	shown := l.near(o.Context)
	hidden := 0
	skip := func() {
		if hidden > 0 {
			line(fmt.Sprintf("%s… %d without samples", strings.Repeat(" ", 47), hidden), sgrSource)
		}
		hidden = 0
	}
	var last Source
	for i, r := range l.Rows {
		if !shown[i] {
			hidden++
			continue
		}
		skip()
		from := ""
		if r.Source != last {
			from = r.Source.describe(l.Function, o.Text)
		}
		if last = r.Source; from != "" && o.Text != nil {
			line(strings.Repeat(" ", 47)+from, sgrSource)
		}
		sgr := ""
		switch {
		case share(r.Self, l.Self) >= hotShare:
			sgr = sgrHot
		case share(r.Self, l.Self) >= warmShare:
			sgr = sgrWarm
		}
		line(fmt.Sprintf("%s %s  %6x  %s%s", cell(r.Self, l.Self, value), cell(r.Cum, l.Cum, value), r.Off, source(from), printable.Text(r.Text)), sgr)
	}
	skip()
}

// describe is a source line as listings have it: the file's base name, the function if it
// was inlined into the one that is listed, and the text; "" where it is not known.
func (s Source) describe(listed string, text func(file string, line int) string) string {
	if s.File == "" {
		return ""
	}
	d := fmt.Sprintf("%s:%d", path.Base(s.File), s.Line)
	if s.Function != "" && s.Function != listed {
		d += " " + s.Function
	}
	if text != nil {
		if t := text(s.File, s.Line); t != "" {
			d += ": " + t
		}
	}
	return printable.Text(d)
}

// near tells which rows are at most context from one with samples; all are where there are
// none, or context is 0.
func (l *Listing) near(context int) []bool {
	shown := make([]bool, len(l.Rows))
	any := false
	for i, r := range l.Rows {
		if r.Cum == 0 || context <= 0 {
			continue
		}
		any = true
		for j := max(0, i-context); j < min(len(l.Rows), i+context+1); j++ {
			shown[j] = true
		}
	}
	for i := range shown {
		shown[i] = shown[i] || !any
	}
	return shown
}
