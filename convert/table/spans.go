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
	Duration int64          `json:"duration"`
	Labels   map[string]any `json:"labels"`
	Stack    []string       `json:"stack,omitempty"` // leaf first
}

// Spans lists the single times of a profile of spans, or off the CPU, for which it must
// have been made with times (stacks.Set.TimedSamples), a line each:
//
//	START DURATION comm/pid EVENT label=value …
//
// START is in seconds of the recording's clock. Stacks follow in lines of their own, the
// leaf first.
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
	b := bufio.NewWriter(w)
	l := spanLister{w: b, set: s, o: o, stacks: map[stacks.StackID][]string{}}
	if o.Stacks {
		l.names = s.Names()
	}
	if o.Input != "" && !o.JSON && len(list) > 0 {
		fmt.Fprintf(b, "# %s\n", printable.Text(o.Input))
	}
	for _, x := range list {
		var err error
		if o.JSON {
			err = l.json(x)
		} else {
			err = l.line(x)
		}
		if err != nil {
			return fmt.Errorf("write spans: %w", err)
		}
	}
	return flush(b, "spans")
}

type spanLister struct {
	w      *bufio.Writer
	set    *stacks.Set
	o      SpansOptions
	names  *stacks.Names
	stacks map[stacks.StackID][]string // bounded, see frames
}

// maxSpanStacks bounds the stacks whose lines are kept.
const maxSpanStacks = 1 << 12

// frames are the names of a stack, leaf first, nil where they are not asked for.
func (l *spanLister) frames(id stacks.StackID) []string {
	if l.names == nil {
		return nil
	}
	f, ok := l.stacks[id]
	if !ok {
		for _, loc := range l.set.Stack(id) {
			for _, n := range l.names.Of(loc) {
				f = append(f, fmt.Sprintf("%s (%s)", l.names.Names[n], calltree.MappingName(l.set, loc)))
			}
		}
		if len(l.stacks) < maxSpanStacks {
			l.stacks[id] = f
		}
	}
	return f
}

func (l *spanLister) line(x stacks.TimedSample) error {
	row := l.set.Sample(int(x.Sample))
	var comm, pid, rest string
	for _, label := range l.set.Labels(row.Labels) {
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
	line := fmt.Sprintf("%6d.%09d %10s  %s/%s %s%s", x.Time/1e9, x.Time%1e9, printable.Value(x.Value, "nanoseconds"), comm, pid, l.set.Events[row.Event].Name, rest)
	if _, err := l.w.WriteString(printable.Text(line) + "\n"); err != nil {
		return err
	}
	frames := l.frames(row.Stack)
	for _, f := range frames {
		if _, err := l.w.WriteString("\t" + printable.Text(f) + "\n"); err != nil {
			return err
		}
	}
	if l.names == nil {
		return nil
	}
	return l.w.WriteByte('\n')
}

func (l *spanLister) json(x stacks.TimedSample) error {
	row := l.set.Sample(int(x.Sample))
	out := jsonSpan{Input: strings.ToValidUTF8(l.o.Input, "\uFFFD"), Event: l.set.Events[row.Event].Name, Time: x.Time, Duration: x.Value, Labels: map[string]any{}, Stack: l.frames(row.Stack)}
	for _, label := range l.set.Labels(row.Labels) {
		if label.Str != "" {
			out.Labels[label.Key] = strings.ToValidUTF8(label.Str, "\uFFFD")
		} else {
			out.Labels[label.Key] = label.Num
		}
	}
	e := json.NewEncoder(l.w)
	e.SetEscapeHTML(false)
	return e.Encode(out)
}
