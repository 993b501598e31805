package render

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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
	Event  int // index into Set.Events
	Column int // which of the event's values
	Sort   TopSort
	// Limit is the number of rows shown. Default: all.
	Limit int
	// Width is the number of characters a line may have. Default: any.
	Width int
	// By groups samples by the label of this key instead of by function, or, for
	// "mapping", by what holds the leaf. "event" counts the samples of all events,
	// in their first columns. Default: by function.
	By    string
	Color bool // escape sequences of a terminal
	// Notes are lines for the header, such as how many records were lost.
	Notes []string
}

// Cost is what one function, or one group of samples, has of an event's values.
type Cost struct {
	Name    string
	Mapping string // base name of what holds it; "several" if more than one does
	Self    int64  // of samples with it as leaf
	Cum     int64  // of samples with it anywhere in the stack, each counted once
}

// Top writes a table of functions, or of groups of samples, with what they cost
// themselves and with all they call, and the shares of the total.
func Top(w io.Writer, s *stacks.Set, o TopOptions) error {
	costs, total, err := Costs(s, o)
	if err != nil {
		return fmt.Errorf("write top: %w", err)
	}
	b := bufio.NewWriter(w)
	t := topTable{w: b, o: o, total: total, unit: s.Events[o.Event].Values[o.Column].Unit}
	if o.By == byEvent {
		t.unit = "samples"
	}
	what := "functions"
	if o.By != "" {
		what = "groups by " + o.By
	}
	t.header(s, fmt.Sprintf(" in %d %s", len(costs), what))
	if o.Limit > 0 && len(costs) > o.Limit {
		costs = costs[:o.Limit]
	}
	t.rows(costs)
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write top: %w", err)
	}
	return nil
}

// Costs returns all functions or groups, sorted as o says, ties by name, and the
// total. Functions are told apart by name.
func Costs(s *stacks.Set, o TopOptions) (costs []Cost, total int64, err error) {
	if err := check(s, o.Event, o.Column); err != nil {
		return nil, 0, err
	}
	if o.By == "" {
		costs, total = functionCosts(s, o)
	} else if costs, total = groupCosts(s, o); len(costs) == 1 && costs[0].Name == noLabel {
		return nil, 0, fmt.Errorf("no sample tells its %s", o.By)
	}
	slices.SortFunc(costs, func(a, b Cost) int {
		x, y := cmp.Compare(b.Self, a.Self), cmp.Compare(b.Cum, a.Cum)
		if o.Sort == ByCum {
			x, y = y, x
		}
		return cmp.Or(x, y, strings.Compare(a.Name, b.Name))
	})
	return costs, total, nil
}

func functionCosts(s *stacks.Set, o TopOptions) (costs []Cost, total int64) {
	n := s.Names()
	costs = make([]Cost, len(n.Names))
	seen := make([]uint32, len(n.Names)) // the last row a name was counted for, plus 1
	for i := range s.NumSamples() {
		x := s.Sample(i)
		if x.Event != o.Event {
			continue
		}
		v := x.Values[o.Column]
		total += v
		for j, loc := range s.Stack(x.Stack) {
			names := n.Of(loc)
			if j == 0 {
				costs[names[0]].Self += v
			}
			for _, id := range names {
				if seen[id] != uint32(i)+1 {
					seen[id] = uint32(i) + 1
					costs[id].Cum += v
				}
			}
		}
	}
	for loc := range s.Locations {
		for _, id := range n.Of(uint32(loc)) {
			if seen[id] == 0 {
				continue
			}
			c := &costs[id]
			switch base := mappingName(s, uint32(loc)); c.Mapping {
			case "":
				c.Mapping = base
			case base:
			default:
				c.Mapping = "several"
			}
		}
	}
	shown := costs[:0]
	for id, c := range costs {
		if seen[id] != 0 {
			c.Name = n.Names[id]
			shown = append(shown, c)
		}
	}
	return shown, total
}

func groupCosts(s *stacks.Set, o TopOptions) (costs []Cost, total int64) {
	at := make(map[string]int)
	for i := range s.NumSamples() {
		x := s.Sample(i)
		column := o.Column
		switch {
		case o.By == byEvent:
			column = 0
		case x.Event != o.Event:
			continue
		}
		name := groupName(s, x, o.By)
		k, ok := at[name]
		if !ok {
			k = len(costs)
			at[name] = k
			costs = append(costs, Cost{Name: name})
		}
		v := x.Values[column]
		costs[k].Self += v
		costs[k].Cum += v
		total += v
	}
	return costs, total
}

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
			return mappingName(s, stack[0])
		}
		return "[unknown]"
	}
	switch l, ok := s.Label(x.Labels, by); {
	case !ok:
		return noLabel
	case l.Str != "":
		return l.Str
	default:
		return strconv.FormatInt(l.Num, 10)
	}
}

// mappingName is the base name of what holds a location.
func mappingName(s *stacks.Set, loc uint32) string {
	m := s.Locations[loc].Mapping
	if m < 0 {
		return "[unknown]"
	}
	file := s.Mappings[m].File
	if base := file[strings.LastIndexByte(file, '/')+1:]; base != "" {
		return base
	}
	return "[unknown]"
}

// topTable lays out a table.
type topTable struct {
	w     *bufio.Writer
	o     TopOptions
	total int64
	unit  string
}

// header writes what is shown, how much that is, and the notes.
func (t *topTable) header(s *stacks.Set, in string) {
	e := s.Events[t.o.Event]
	if t.o.By == byEvent {
		t.line(fmt.Sprintf("Events: all, %s", t.unit))
	} else {
		t.line(fmt.Sprintf("Event: %s, %s of %s", e.Name, e.Values[t.o.Column].Type, t.unit))
	}
	t.line(fmt.Sprintf("Total: %s%s", t.value(t.total), in))
	for _, note := range t.o.Notes {
		t.line(note)
	}
	t.line("")
}

func (t *topTable) rows(costs []Cost) {
	last := "function"
	mappingWidth := 0
	if t.o.By != "" {
		last = t.o.By
	} else {
		mappingWidth = len("mapping")
		for _, c := range costs {
			mappingWidth = max(mappingWidth, min(utf8.RuneCountInString(c.Mapping), 24))
		}
		if t.o.Width > 0 { // functions matter more
			const before, function = 41, 24
			mappingWidth = min(mappingWidth, max(len("mapping"), t.o.Width-before-function))
		}
	}
	t.row("self", "self%", "cum", "cum%", "mapping", mappingWidth, last)
	for _, c := range costs {
		t.row(t.value(c.Self), t.share(c.Self), t.value(c.Cum), t.share(c.Cum), c.Mapping, mappingWidth, c.Name,
			shareCell{11, c.Self}, shareCell{30, c.Cum})
	}
}

func (t *topTable) row(self, selfShare, cum, cumShare, mapping string, mappingWidth int, name string, shares ...shareCell) {
	l := fmt.Sprintf("%10s %7s %10s %7s  ", self, selfShare, cum, cumShare)
	if mappingWidth > 0 {
		l += fmt.Sprintf("%-*s  ", mappingWidth, shorten(printable(mapping), mappingWidth))
	}
	t.line(l+name, shares...)
}

// line writes a line of at most Width characters, in which shares stand that may
// be colored.
func (t *topTable) line(l string, shares ...shareCell) {
	l = printable(l)
	if t.o.Width > 0 {
		l = shorten(l, t.o.Width)
	}
	if t.o.Color {
		for _, c := range slices.Backward(shares) {
			if end := c.at + shareWidth; t.o.Width == 0 || end < t.o.Width {
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

const shareWidth = 7

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

// shorten cuts s to n characters, the last of which then is "…".
func shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return string(r[:max(n-1, 0)]) + "…"
}

// Printable is a name without what a terminal would obey.
func Printable(s string) string { return printable(s) }

// printable replaces control characters, which a name from a file may hold and a
// terminal would obey.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return utf8.RuneError
		}
		return r
	}, s)
}

func (t *topTable) share(v int64) string {
	if t.total == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f%%", 100*float64(v)/float64(t.total))
}

// value writes times and sizes in a unit that suits, all else as a number.
func (t *topTable) value(v int64) string {
	switch t.unit {
	case "nanoseconds":
		return scaled(v, 1000, []string{"ns", "us", "ms", "s"})
	case "bytes":
		return scaled(v, 1024, []string{"B", "kB", "MB", "GB", "TB"})
	}
	return strconv.FormatInt(v, 10)
}

func scaled(v int64, step float64, units []string) string {
	x := float64(v)
	for len(units) > 1 && math.Abs(x) >= step {
		x /= step
		units = units[1:]
	}
	return strconv.FormatFloat(math.Round(x*100)/100, 'f', -1, 64) + units[0]
}
