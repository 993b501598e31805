package convert

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"kprof/convert/printable"
	"kprof/convert/replay"
	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/spanrule"
)

// EmptyError says that there is no sample to show, and why.
type EmptyError struct {
	Reason   string
	Unlisted int // events that Reason leaves out, as there are so many
}

func (e *EmptyError) Error() string { return e.Reason }

// Empty returns an *EmptyError that says why there is no sample to show, nil if there
// are some; of a part of a recording (Options.Part) of which Transforms left none, their
// *transform.NoneError. It is for profiles of New; Read says so itself.
func (p *Profile) Empty() error {
	if p.none != nil {
		return p.none
	}
	return p.emptyReason(p.opts, p.Stats.LeftOut)
}

// NothingTaken says why of a recording whose samples were taken one by one there was none
// to take, and what there would have been; left is what selecting left out, nil if that was
// nothing. It is an *EmptyError, or an *UnknownEventError.
func NothingTaken(o *Options, st *replay.Stats, left *replay.LeftOut) error {
	p := Profile{Set: stacks.New(), Stats: *st, Events: []abi.Event{}}
	return p.emptyReason(o, left)
}

// UnknownEvent makes of stacks.Choose's complaint about an event one that says how many
// samples the others of a recording have, an *UnknownEventError. Other errors stay as they are.
func UnknownEvent(err error, st *replay.Stats) error {
	return chooseError(err, func() string { return countedMap(eventSamples(st), func(s string) string { return s }) })
}

// emptyReason says why a profile has no samples, and what there would have been;
// nil if it has some. left is what selecting left out, nil if that was nothing.
func (p *Profile) emptyReason(o *Options, left *replay.LeftOut) error {
	if p.Set.NumSamples() > 0 {
		if p.weightless(-1, -1) {
			return &EmptyError{Reason: "it has no samples: all of its values are 0"}
		}
		return nil
	}
	if left != nil && left.Samples > 0 {
		return &EmptyError{Reason: selectedNone(o, left) + p.numbersAlone(o)}
	}
	if f := p.Stats.Faster; f.Count > 0 {
		return &EmptyError{Reason: fmt.Sprintf("no time between events is as long as %s: the longest of %d is %s", nanos(o.SlowerThan), f.Count, nanos(f.Longest))}
	}
	var valueless uint64
	for _, e := range p.Stats.Samples {
		valueless += e.Valueless
	}
	if valueless > 0 {
		return &EmptyError{Reason: fmt.Sprintf("none of %d samples has a value of %q", valueless, o.Value)}
	}
	var chosen, others []string
	var counts []int64
	for _, e := range p.Stats.Samples {
		switch {
		case e.Shown != "" && len(o.Events) > 0:
			chosen = append(chosen, e.Name)
		case e.Samples > 0:
			others, counts = append(others, e.Name), append(counts, int64(e.Samples))
		}
	}
	switch {
	case len(others) > 0 && (o.OffCPU || o.WallClock || len(o.Spans) > 0):
		return &EmptyError{Reason: "none of its events is the end of what another one began; events here: " + CountedList(others, counts)}
	case len(chosen) > 0 && len(others) > 0:
		names, more := nameList(chosen)
		return &EmptyError{Reason: fmt.Sprintf("no sample of event %s; events here: %s", names, CountedList(others, counts)), Unlisted: more}
	case p.Events == nil:
		return &EmptyError{Reason: "it has no samples"}
	}
	records, more := p.recordList()
	return &EmptyError{Reason: "it has no samples, only " + records, Unlisted: more}
}

// numbersAlone says why no system call is one that a rule names, of an input that does not tell
// its machine.
func (p *Profile) numbersAlone(o *Options) string {
	if p.Header == nil || p.Header.Arch != "" || !slices.ContainsFunc(o.Spans, func(r *spanrule.Rule) bool { return strings.HasPrefix(r.Text, spanrule.Prefix+"syscalls:") }) {
		return ""
	}
	if !slices.ContainsFunc(p.Stats.Samples, func(e replay.EventSamples) bool { return e.Name == "raw_syscalls:sys_enter" }) {
		return "" // the events of each call tell its name
	}
	return "; it does not tell the machine, without which system calls have numbers and no names"
}

func nanos(t uint64) string { return printable.Value(int64(min(t, math.MaxInt64)), "nanoseconds") }

// nameList lists names, of many the first, and says how many more there are.
func nameList(names []string) (text string, more int) {
	n := min(len(names), listed)
	text = strings.Join(names[:n], ", ")
	if more = len(names) - n; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text, more
}

// recordList is what a recording without samples has, with how many events are not listed.
func (p *Profile) recordList() (text string, more int) {
	var names []string
	var counts []int64
	for t, n := range p.Stats.Records {
		names, counts = append(names, t.String()), append(counts, int64(n))
	}
	if len(names) == 0 {
		return "a header", 0
	}
	var events []string
	for _, e := range p.Stats.Samples {
		events = append(events, e.Name)
	}
	text = "records of other kinds: " + CountedList(names, counts)
	if len(events) > 0 {
		var list string
		list, more = nameList(events)
		text += "; of event " + list
	}
	return text, more
}

// listed is how many names a message lists.
const listed = 8

// CountedList lists names with their counts, most first: "cycles (12), faults (3)". Of
// many it lists the first, and says how many more there are.
func CountedList[N cmp.Ordered](names []string, counts []N) string {
	order := make([]int, len(names))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(names[a], names[b]))
	})
	var parts []string
	for _, i := range order[:min(len(order), listed)] {
		parts = append(parts, fmt.Sprintf("%s (%v)", names[i], counts[i]))
	}
	text := strings.Join(parts, ", ")
	if n := len(order) - len(parts); n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

func countedMap[K comparable](m map[K]uint64, name func(K) string) string {
	var names []string
	var counts []uint64
	for k, n := range m {
		names, counts = append(names, name(k)), append(counts, n)
	}
	return CountedList(names, counts)
}

// criterion is one of the things that samples are selected by.
type criterion struct {
	what  string // "comm swapper"
	alone uint64 // samples that it alone selects
	here  string // what there is instead
}

// selectedNone says which of the options selected nothing.
func selectedNone(o *Options, l *replay.LeftOut) string {
	var all []criterion
	if len(o.Comms) > 0 {
		c := criterion{what: "comm " + strings.Join(o.Comms, ", "), here: "comms here: " + countedMap(l.Comms, func(s string) string { return s })}
		for _, comm := range o.Comms {
			c.alone += l.Comms[comm]
		}
		all = append(all, c)
	}
	for _, n := range []struct {
		what string
		want []int32
		have map[int32]uint64
	}{{"pid", o.PIDs, l.PIDs}, {"tid", o.TIDs, l.TIDs}, {"cpu", o.CPUs, l.CPUs}} {
		if len(n.want) == 0 {
			continue
		}
		c := criterion{what: n.what + " " + numberList(n.want)}
		if c.here = "samples have no " + n.what; len(n.have) > 0 {
			c.here = n.what + "s here: " + countedMap(n.have, func(n int32) string { return strconv.Itoa(int(n)) })
		}
		for _, want := range n.want {
			c.alone += n.have[want]
		}
		all = append(all, c)
	}
	if l.From != 0 || l.To != 0 {
		c := criterion{what: "the time " + timeText(l.From, l.To), here: "samples have no times"}
		if l.Last != 0 {
			c.here = fmt.Sprintf("the first sample is at %s s, the last at %s s", secondsText(l.First), secondsText(l.Last))
			if l.From <= l.Last && (l.To == 0 || l.To >= l.First) {
				c.alone = 1 // or so
			}
		}
		all = append(all, c)
	}
	if o.Where != nil {
		c := criterion{what: strconv.Quote(o.Where.String()), alone: l.Matching, here: fmt.Sprintf("none of %d samples matches", l.Samples)}
		if l.Unmatched > 0 {
			c.here += fmt.Sprintf(", %d have no value for it", l.Unmatched)
		}
		all = append(all, c)
	}
	var what, here []string
	for _, c := range all {
		if c.alone == 0 {
			what, here = append(what, c.what), append(here, c.here)
		}
	}
	if len(what) > 0 {
		return fmt.Sprintf("no sample of %s; %s", strings.Join(what, ", and none of "), strings.Join(here, "; "))
	}
	if len(all) == 0 { // system calls that a rule does not name
		for _, r := range o.Spans {
			what = append(what, r.Name)
		}
		return "no sample is of " + strings.Join(what, ", ")
	}
	for _, c := range all {
		what, here = append(what, c.what), append(here, c.here)
	}
	return fmt.Sprintf("no sample of %s at once; %s", strings.Join(what, " and "), strings.Join(here, "; "))
}

// numberList is a list of numbers with ranges: "0,4-7".
func numberList(ns []int32) string {
	var b strings.Builder
	for i := 0; i < len(ns); i++ {
		from := i
		for i+1 < len(ns) && ns[i+1] == ns[i]+1 {
			i++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, ns[from])
		if i > from {
			fmt.Fprintf(&b, "-%d", ns[i])
		}
	}
	return b.String()
}

func timeText(from, to uint64) string {
	switch {
	case to == 0:
		return "from " + secondsText(from) + " s on"
	case from == 0:
		return "up to " + secondsText(to) + " s"
	}
	return fmt.Sprintf("from %s to %s s", secondsText(from), secondsText(to))
}

// secondsText is a time as ParseTimeRange takes it.
func secondsText(ns uint64) string { return fmt.Sprintf("%d.%09d", ns/1e9, ns%1e9) }

// leftOut counts what a profile has to select from.
func leftOut(s *stacks.Set) *replay.LeftOut {
	l := &replay.LeftOut{
		Comms: map[string]uint64{},
		PIDs:  map[int32]uint64{}, TIDs: map[int32]uint64{}, CPUs: map[int32]uint64{},
	}
	numbers := map[string]map[int32]uint64{"pid": l.PIDs, "tid": l.TIDs, "cpu": l.CPUs}
	for i := range s.NumSamples() {
		x := s.Sample(i)
		n := uint64(1)
		if len(x.Values) > 0 && x.Values[0] > 0 {
			n = uint64(x.Values[0])
		}
		l.Samples += n
		for _, label := range s.Labels(x.Labels) {
			if label.Key == "comm" {
				l.Comms[label.Str] += n
			} else if m := numbers[label.Key]; m != nil {
				m[int32(label.Num)] += n
			}
		}
	}
	return l
}

// eventList says what events a recording or profile has, with their samples.
func (p *Profile) eventList() string {
	if p.Events == nil {
		var names []string
		for _, e := range p.Set.Events {
			names = append(names, e.Name)
		}
		return CountedList(names, p.Set.SampleCounts())
	}
	return countedMap(eventSamples(&p.Stats), func(s string) string { return s })
}

// eventSamples are the samples of a recording by event.
func eventSamples(st *replay.Stats) map[string]uint64 {
	counts := map[string]uint64{}
	for _, e := range st.Samples {
		counts[e.Name] += e.Samples
	}
	return counts
}
