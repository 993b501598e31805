// Package table writes a Set as text for a terminal: lists of functions, call trees.
package table

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"kprof/convert/calltree"
	"kprof/convert/printable"
	"kprof/convert/stacks"
)

// TopSort is what a table is sorted by.
type TopSort uint8

const (
	BySelf TopSort = iota
	ByCum
)

// TopOptions say what Top shows.
type TopOptions struct {
	// Event is an index into Set.Events, Column which of its values is shown.
	Event, Column int
	Sort          TopSort
	// Limit is the number of rows shown. Default: all.
	Limit int
	// Width is the number of columns a line may have. Default: any.
	Width int
	// By groups samples by the label of this key instead of by function, or, for
	// "mapping", by what holds the leaf. "event" counts the samples of all events,
	// in their first columns. Several, with commas between them, group by all of
	// them at once. Default: by function.
	By string
	// Lines tells functions apart by source line too, where it is known.
	Lines bool
	Color bool // escape sequences of a terminal
	// Durations are those of events whose values are times: of groups by labels their
	// distributions are shown. Default: none.
	Durations []Durations
	OfValues  bool // Durations are those of ValuesOf, for Histograms alone
	// Calls are those of events of functions that took a time: functions are shown with how
	// often they were called, and the distribution of the times. Default: none.
	Calls []Calls
	// Notes are lines for the header, such as how many records were lost.
	Notes []string
}

// Top writes a table of functions, or of groups of samples, with what they cost
// themselves and with all they call, and the shares of the total.
func Top(w io.Writer, s *stacks.Set, o TopOptions) error {
	costs, total, err := Costs(s, o)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	t := topTable{w: b, o: o, total: total, unit: s.Events[o.Event].Values[o.Column].Unit}
	if o.byEvent() {
		t.unit = "samples"
	}
	in := printable.Count(len(costs), "function")
	switch {
	case o.By != "":
		in = printable.Count(len(costs), "group") + " by " + o.By
	case o.Lines:
		in += " by line"
	}
	if h := o.distributions(s)[""]; h != nil && o.By == "" {
		t.o.Notes = append([]string{durationNote(h)}, o.Notes...)
	}
	t.header(s, " in "+in)
	if o.Limit > 0 && len(costs) > o.Limit {
		costs = costs[:o.Limit]
	}
	of, calls := o.distributions(s), o.calls(s)
	switch {
	case of != nil && o.By != "":
		t.durationRows(costs, of)
	case calls != nil:
		t.callRows(costs, calls)
	default:
		t.rows(costs)
	}
	return flush(b, "top")
}

// flush ends the writing of a table.
func flush(b *bufio.Writer, what string) error {
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write %s: %w", what, err)
	}
	return nil
}

// size is how far a value is from 0.
func size(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// Costs returns all functions or groups, sorted as o says, values below 0 by their size,
// ties by name, and the total. Functions are told apart by name, and by line if o says so; those
// that cost nothing are left out where no calls are shown.
func Costs(s *stacks.Set, o TopOptions) (costs []calltree.Cost, total int64, err error) {
	if o.By == "" {
		costs, total, err = calltree.Costs(s, calltree.Options{Event: o.Event, Column: o.Column, Lines: o.Lines})
		if err == nil && o.calls(s) == nil {
			costs = slices.DeleteFunc(costs, func(c calltree.Cost) bool { return c.Self == 0 && c.Cum == 0 })
		}
	} else {
		costs, total, err = groupCosts(s, o)
	}
	if err != nil {
		return nil, 0, err
	}
	slices.SortFunc(costs, func(a, b calltree.Cost) int {
		x, y := cmp.Or(cmp.Compare(size(b.Self), size(a.Self)), cmp.Compare(b.Self, a.Self)), cmp.Or(cmp.Compare(size(b.Cum), size(a.Cum)), cmp.Compare(b.Cum, a.Cum))
		if o.Sort == ByCum {
			x, y = y, x
		}
		return cmp.Or(x, y, strings.Compare(a.Name, b.Name))
	})
	return costs, total, nil
}

// noSuchLabel says which labels samples have, when they have none called key.
func noSuchLabel(s *stacks.Set, key string) error {
	keys := s.LabelKeys()
	if len(keys) == 0 {
		return fmt.Errorf("samples have no label %q, nor any other; group by mapping or event", key)
	}
	return fmt.Errorf("samples have no label %q, but %s; or group by mapping or event", key, strings.Join(keys, ", "))
}

func groupCosts(s *stacks.Set, o TopOptions) (costs []calltree.Cost, total int64, err error) {
	if err := s.CheckColumn(o.Event, o.Column); err != nil {
		return nil, 0, err
	}
	keys := strings.Split(o.By, ",")
	found := make([]bool, len(keys))
	var sum stacks.Sum
	at := make(map[string]int)
	events := o.byEvent()
	for i := range s.NumSamples() {
		x := s.Sample(i)
		column := o.Column
		switch {
		case events:
			column = 0
		case x.Event != o.Event:
			continue
		}
		name := ""
		for j, key := range keys {
			part := groupName(s, x, key)
			found[j] = found[j] || part != noLabel
			if j > 0 {
				name += ", "
			}
			name += part
		}
		k, ok := at[name]
		if !ok {
			k = len(costs)
			at[name] = k
			costs = append(costs, calltree.Cost{Name: name})
		}
		v := x.Values[column]
		if err := sum.Add(v, &s.Events[x.Event], column); err != nil {
			return nil, 0, err
		}
		costs[k].Self += v
		costs[k].Cum += v
	}
	if i := slices.Index(found, false); i >= 0 && len(costs) > 0 {
		return nil, 0, noSuchLabel(s, keys[i])
	}
	return costs, sum.Total, nil
}

func (o *TopOptions) byEvent() bool { return slices.Contains(strings.Split(o.By, ","), byEvent) }

// What samples are grouped by besides labels, and what those without the label
// are called.
const (
	byMapping = "mapping"
	byEvent   = "event"
	noLabel   = "(none)"
)

func groupName(s *stacks.Set, x stacks.Sample, by string) string {
	switch by {
	case byEvent:
		return s.Events[x.Event].Name
	case byMapping:
		if stack := s.Stack(x.Stack); len(stack) > 0 {
			return calltree.MappingName(s, stack[0])
		}
		return "[unknown]"
	}
	switch l, ok := s.Label(x.Labels, by); {
	case !ok:
		return noLabel
	case l.Str != "":
		return l.Str
	default:
		return printable.Value(l.Num, l.Unit)
	}
}

// topTable lays out a table.
type topTable struct {
	w     *bufio.Writer
	o     TopOptions
	total int64
	unit  string

	valueWidth, shareWidth int // of columns; see fit
}

// The widths that columns of values and shares have at least.
const (
	leastValue = 10
	leastShare = 7
)

// fit makes the columns as wide as the values and shares need: a count of cycles has more digits
// than a time.
func (t *topTable) fit(values func(yield func(int64) bool)) {
	t.valueWidth, t.shareWidth = leastValue, leastShare
	for v := range values {
		t.valueWidth = max(t.valueWidth, len(t.value(v)))
		t.shareWidth = max(t.shareWidth, len(t.share(v)))
	}
}

// fitCosts is fit for costs.
func (t *topTable) fitCosts(costs []calltree.Cost) {
	t.fit(func(yield func(int64) bool) {
		for _, c := range costs {
			if !yield(c.Self) || !yield(c.Cum) {
				return
			}
		}
	})
}

// numbers are the cells of a value and its share, and of further ones.
func (t *topTable) numbers(cells ...string) string {
	var l strings.Builder
	for i, cell := range cells {
		width := t.shareWidth
		if i%2 == 0 {
			width = t.valueWidth
		}
		fmt.Fprintf(&l, "%*s ", width, cell)
	}
	return l.String()
}

// selfShare and cumShare are where the first and the second share of a line stand.
func (t *topTable) selfShare(v int64) shareCell { return shareCell{t.valueWidth + 1, v} }
func (t *topTable) cumShare(v int64) shareCell {
	return shareCell{2*(t.valueWidth+1) + t.shareWidth + 1, v}
}

// header writes what is shown, how much that is, and the notes.
func (t *topTable) header(s *stacks.Set, in string) {
	e := s.Events[t.o.Event]
	if t.o.byEvent() {
		t.line(fmt.Sprintf("Events: all, %s", t.unit))
	} else {
		t.line(fmt.Sprintf("Event: %s, %s", e.ColumnName(t.o.Column), e.Values[t.o.Column].Words()))
	}
	t.line(fmt.Sprintf("Total: %s%s", t.value(t.total), in))
	for _, note := range t.o.Notes {
		t.line(note)
	}
	t.line("")
}

func (t *topTable) rows(costs []calltree.Cost) {
	t.fitCosts(costs)
	last := "function"
	mappingWidth := 0
	if t.o.Lines {
		last = "function and line"
	}
	if t.o.By != "" {
		last = t.o.By
	} else {
		mappingWidth = len("mapping")
		for _, c := range costs {
			mappingWidth = max(mappingWidth, min(printable.Width(printable.Text(c.Mapping)), 24))
		}
		if t.o.Width > 0 { // functions matter more
			const function = 24
			before := 2*(t.valueWidth+t.shareWidth) + 7
			mappingWidth = min(mappingWidth, max(len("mapping"), t.o.Width-before-function))
		}
	}
	t.row("self", "self%", "cum", "cum%", "mapping", mappingWidth, last)
	for _, c := range costs {
		t.row(t.value(c.Self), t.share(c.Self), t.value(c.Cum), t.share(c.Cum), c.Mapping, mappingWidth, c.Name,
			t.selfShare(c.Self), t.cumShare(c.Cum))
	}
}

func (t *topTable) row(self, selfShare, cum, cumShare, mapping string, mappingWidth int, name string, shares ...shareCell) {
	l := t.numbers(self, selfShare, cum, cumShare) + " "
	if mappingWidth > 0 {
		l += printable.Column(printable.Text(mapping), mappingWidth) + "  "
	}
	t.line(l+name, shares...)
}

// line writes a line of at most Width columns, in which shares stand that may
// be colored.
func (t *topTable) line(l string, shares ...shareCell) {
	l = printable.Text(l)
	if t.o.Width > 0 {
		l = printable.Shorten(l, t.o.Width)
	}
	if t.o.Color {
		for _, c := range slices.Backward(shares) {
			if end := c.at + t.shareWidth; t.o.Width == 0 || end < t.o.Width {
				l = l[:c.at] + t.colored(l[c.at:end], c.value) + l[end:]
			}
		}
	}
	t.w.WriteString(l)
	t.w.WriteByte('\n')
}

// shareCell is where in a line the share of a value stands.
type shareCell struct {
	at    int // column
	value int64
}

// colored gives a large share the color that perf gives it.
func (t *topTable) colored(text string, v int64) string {
	switch share := float64(v) / float64(t.total); {
	case share >= 0.05:
		return "\x1b[31m" + text + "\x1b[m"
	case share >= 0.005:
		return "\x1b[32m" + text + "\x1b[m"
	}
	return text
}

func (t *topTable) share(v int64) string {
	if t.total == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f%%", 100*float64(v)/float64(t.total)+0) // + 0 is no -0
}

func (t *topTable) value(v int64) string { return printable.Value(v, t.unit) }
