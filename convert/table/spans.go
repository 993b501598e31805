package table

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"kprof/convert/calltree"
	"kprof/convert/printable"
	"kprof/convert/stacks"
)

// SpansOptions say how Spans lists times.
type SpansOptions struct {
	Events  []int  // of the Set, whose rows are times
	Longest bool   // the longest first; else in the order of when they began
	Limit   uint64 // how many are listed; 0 is all
	Tail    int    // only this many of the last; 0 is all
	Stacks  bool   // with the stack of each
	JSON    bool   // an object a line
	Input   string // told of each span in JSON, and in text in a line before them; "" for one input
}

// jsonSpan is a line of JSON. Times are in ns.
type jsonSpan struct {
	Input    string         `json:"input,omitempty"`
	Event    string         `json:"event"`
	Time     uint64         `json:"time"` // when it began, by the recording's clock
	Duration *int64         `json:"duration,omitempty"`
	Value    *int64         `json:"value,omitempty"` // in place of a duration, of memory: what of it was not given back
	Unit     string         `json:"unit,omitempty"`  // of Value
	Labels   map[string]any `json:"labels"`
	Stack    []string       `json:"stack,omitempty"` // leaf first
}

// Spans lists the single times of a profile of spans, or off the CPU, for which it must
// have been made with times (stacks.Set.TimedSamples), as SpanPrinter does.
func Spans(w io.Writer, s *stacks.Set, o SpansOptions) error {
	var list []stacks.TimedSample
	for _, x := range s.TimedSamples {
		if slices.Contains(o.Events, s.Sample(int(x.Sample)).Event) {
			list = append(list, x)
		}
	}
	if o.Longest {
		slices.SortStableFunc(list, func(a, b stacks.TimedSample) int { return cmp.Compare(b.Value, a.Value) })
	}
	if o.Limit > 0 && uint64(len(list)) > o.Limit {
		list = list[:o.Limit]
	}
	if o.Tail > 0 && len(list) > o.Tail {
		list = list[len(list)-o.Tail:]
	}
	p := NewSpanPrinter(w, SpanFormat{Stacks: o.Stacks, JSON: o.JSON, Input: o.Input})
	if o.Input != "" && !o.JSON && len(list) > 0 {
		fmt.Fprintf(p.w, "# %s\n", printable.Text(o.Input))
	}
	return p.Print(s, list)
}

// SpanFormat says how times are printed: see SpansOptions.
type SpanFormat struct {
	Stacks bool
	JSON   bool
	Input  string
}

// SpanPrinter prints single times, a line each:
//
//	START DURATION comm/pid EVENT label=value …
//
// START is in seconds of the recording's clock. Stacks follow in lines of their own, the
// leaf first.
type SpanPrinter struct {
	w      *bufio.Writer
	o      SpanFormat
	set    *stacks.Set                 // that was printed last
	stacks map[stacks.StackID][]string // of it, bounded: see frames
}

// NewSpanPrinter returns a SpanPrinter.
func NewSpanPrinter(w io.Writer, o SpanFormat) *SpanPrinter {
	return &SpanPrinter{w: bufio.NewWriter(w), o: o}
}

// Print prints times of a Set, whose locations have their names.
func (p *SpanPrinter) Print(s *stacks.Set, list []stacks.TimedSample) error {
	if s != p.set {
		p.set, p.stacks = s, map[stacks.StackID][]string{}
	}
	for _, x := range list {
		var err error
		if p.o.JSON {
			err = p.json(x)
		} else {
			err = p.line(x)
		}
		if err != nil {
			return fmt.Errorf("write spans: %w", err)
		}
	}
	return flush(p.w, "spans")
}

// maxSpanStacks bounds the stacks whose lines are kept.
const maxSpanStacks = 1 << 12

// frames are the names of a stack, leaf first, nil where they are not asked for.
func (p *SpanPrinter) frames(id stacks.StackID) []string {
	if !p.o.Stacks {
		return nil
	}
	f, ok := p.stacks[id]
	if !ok {
		for _, loc := range p.set.Stack(id) {
			in := calltree.MappingName(p.set, loc)
			lines := p.set.Lines(loc)
			for _, l := range lines {
				f = append(f, fmt.Sprintf("%s (%s)", p.set.Functions[l.Function].Name, in))
			}
			if len(lines) == 0 {
				f = append(f, fmt.Sprintf("%s (%s)", p.set.PlaceName(loc), in))
			}
		}
		if len(p.stacks) < maxSpanStacks {
			p.stacks[id] = f
		}
	}
	return f
}

// unit is that of the values of an event: of its last column, which is nanoseconds but for what is held.
func (p *SpanPrinter) unit(event int) string {
	values := p.set.Events[event].Values
	return values[len(values)-1].Unit
}

func (p *SpanPrinter) line(x stacks.TimedSample) error {
	row := p.set.Sample(int(x.Sample))
	var comm, pid, rest string
	for _, label := range p.set.Labels(row.Labels) {
		value := label.Str
		if value == "" {
			value = printable.Value(label.Num, label.Unit)
		}
		switch label.Key {
		case "comm":
			comm = value
		case "pid":
			pid = value
		default:
			rest += fmt.Sprintf(" %s=%s", label.Key, value)
		}
	}
	line := fmt.Sprintf("%6d.%09d %10s  %s/%s %s%s", x.Time/1e9, x.Time%1e9, printable.Value(x.Value, p.unit(row.Event)), comm, pid, p.set.Events[row.Event].Name, rest)
	if _, err := p.w.WriteString(printable.Text(line) + "\n"); err != nil {
		return err
	}
	frames := p.frames(row.Stack)
	for _, f := range frames {
		if _, err := p.w.WriteString("\t" + printable.Text(f) + "\n"); err != nil {
			return err
		}
	}
	if !p.o.Stacks {
		return nil
	}
	return p.w.WriteByte('\n')
}

func (p *SpanPrinter) json(x stacks.TimedSample) error {
	row := p.set.Sample(int(x.Sample))
	out := jsonSpan{Input: strings.ToValidUTF8(p.o.Input, "\uFFFD"), Event: p.set.Events[row.Event].Name, Time: x.Time, Labels: map[string]any{}, Stack: p.frames(row.Stack)}
	if unit := p.unit(row.Event); unit == "nanoseconds" {
		out.Duration = &x.Value
	} else {
		out.Value, out.Unit = &x.Value, unit
	}
	for _, label := range p.set.Labels(row.Labels) {
		if label.Str != "" {
			out.Labels[label.Key] = strings.ToValidUTF8(label.Str, "\uFFFD")
		} else {
			out.Labels[label.Key] = label.Num
		}
	}
	e := json.NewEncoder(p.w)
	e.SetEscapeHTML(false)
	return e.Encode(out)
}
