package spandiff

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"kprof/convert/diff"
	"kprof/convert/span"
	"kprof/convert/stacks"
)

// blocks is how many blocks of equal time a run is divided into, a power of 2.
const blocks = 32

// offCPU is the event of times off the CPU.
const offCPU = "off-cpu"

// unended is the label of spans that had not ended.
const unended = "unended"

// notOfRules are labels that do not say of what kind a span is, but who was in it, how it
// ended, or what is known of its stack.
var notOfRules = []string{"comm", "pid", "tid", "cpu", "error", "state", "stack", "waker", unended}

// labelKeys are the labels that rules have made.
func labelKeys(runs [2][]diff.Run) (keys []string) {
	first := &runs[0][0]
	if e := &first.Set.Events[first.Event]; e.HasColumn(len(e.Values)-1, offCPU) {
		return []string{"comm"}
	}
	for side := range runs {
		for i := range runs[side] {
			r := &runs[side][i]
			seen := map[stacks.LabelsID]bool{}
			for row := range r.Set.NumSamples() {
				x := r.Set.Sample(row)
				if x.Event != r.Event || seen[x.Labels] {
					continue
				}
				seen[x.Labels] = true
				for _, l := range r.Set.Labels(x.Labels) {
					if !slices.Contains(keys, l.Key) && !slices.Contains(notOfRules, l.Key) {
						keys = append(keys, l.Key)
					}
				}
			}
		}
	}
	slices.Sort(keys)
	return keys
}

// times are those of all runs, by group.
type times struct {
	groups []string // the first is all spans
	runs   [2][]*run
}

// run is the times of one run.
type run struct {
	timed   bool
	seconds float64
	groups  []group
}

// group is the times of one group in one run.
type group struct {
	calls, sum   float64
	blockCalls   [blocks]float64
	blockSum     [blocks]float64
	cells        []cell // by block, then by bucket
	sumOfSquares float64
}

// cell is how many times of a block are in a bucket (span.BucketOf).
type cell struct {
	block  uint8
	bucket uint16
	count  uint32
}

// read takes the times of runs, of the groups with the most time; more is how many others
// there are.
func read(runs [2][]diff.Run, by []string) (t times, more int) {
	total := map[string]float64{}
	names := [2][][]string{}
	for side := range runs {
		for i := range runs[side] {
			r := &runs[side][i]
			n := namesOf(r, by)
			names[side] = append(names[side], n)
			for row, name := range n {
				if x := r.Set.Sample(row); x.Event == r.Event {
					total[name] += float64(x.Values[len(x.Values)-1]) / float64(len(runs[side]))
				}
			}
		}
	}
	var found []string
	for name := range total {
		found = append(found, name)
	}
	if len(found) == 0 {
		return t, 0
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Or(cmp.Compare(total[b], total[a]), strings.Compare(a, b)) })
	if len(found) > maxGroups {
		found, more = found[:maxGroups], len(found)-maxGroups
	}
	t.groups = []string{""}
	if len(found) > 1 || found[0] != "" {
		t.groups = append(t.groups, found...)
	}
	if len(t.groups) == 2 { // all spans are one group, which has a name
		t.groups = t.groups[1:]
	}
	index := map[string]int{}
	for i, name := range t.groups {
		index[name] = i
	}
	for side := range runs {
		for i := range runs[side] {
			t.runs[side] = append(t.runs[side], readRun(&runs[side][i], names[side][i], index, len(t.groups)))
		}
	}
	return t, more
}

// namesOf returns the name of the group of each row.
func namesOf(r *diff.Run, by []string) []string {
	names := make([]string, r.Set.NumSamples())
	known := map[stacks.LabelsID]string{}
	for row := range names {
		id := r.Set.Sample(row).Labels
		name, ok := known[id]
		if !ok {
			var values []string
			for _, key := range by {
				l, _ := r.Set.Label(id, key)
				value := l.Str
				if value == "" && l.Key != "" {
					value = strconv.FormatInt(l.Num, 10)
				}
				values = append(values, cmp.Or(value, "-"))
			}
			name = strings.Join(values, " ")
			known[id] = name
		}
		names[row] = name
	}
	return names
}

// readRun takes the times of one run.
func readRun(r *diff.Run, names []string, index map[string]int, n int) *run {
	t := &run{groups: make([]group, n)}
	all, hasAll := index[""]
	groups := make([][]int, len(names)) // of each row
	for row, name := range names {
		x := r.Set.Sample(row)
		if x.Event != r.Event {
			continue
		}
		i, ok := index[name]
		if ok {
			groups[row] = append(groups[row], i)
		}
		if hasAll && !(ok && i == all) {
			groups[row] = append(groups[row], all)
		}
		if _, open := r.Set.Label(x.Labels, unended); open {
			continue
		}
		for _, i := range groups[row] {
			g := &t.groups[i]
			g.calls += float64(x.Values[0])
			g.sum += float64(x.Values[len(x.Values)-1])
		}
	}
	t.seconds = float64(r.Set.DurationNanos) / 1e9
	t.divide(r, groups)
	return t
}

// divide divides a run into blocks, if it has the single times.
func (t *run) divide(r *diff.Run, groups [][]int) {
	first, last := ^uint64(0), uint64(0)
	var keys []uint64 // group, block, bucket
	takes := func(m *stacks.TimedSample) bool {
		x := r.Set.Sample(int(m.Sample))
		if x.Event != r.Event {
			return false
		}
		_, open := r.Set.Label(x.Labels, unended)
		return !open
	}
	count := 0
	for i := range r.Set.TimedSamples {
		if m := &r.Set.TimedSamples[i]; takes(m) {
			first, last = min(first, m.Time), max(last, m.Time)
			count++
		}
	}
	if count == 0 {
		return
	}
	t.timed = true
	length := (last-first)/blocks + 1
	if t.seconds == 0 {
		t.seconds = float64(last-first+1) / 1e9
	}
	for i := range t.groups {
		t.groups[i].calls, t.groups[i].sum = 0, 0 // of those that ended only
	}
	keys = make([]uint64, 0, count)
	for i := range r.Set.TimedSamples {
		m := &r.Set.TimedSamples[i]
		if !takes(m) {
			continue
		}
		block, value := (m.Time-first)/length, uint64(max(m.Value, 0))
		for _, i := range groups[m.Sample] {
			g := &t.groups[i]
			g.calls++
			g.sum += float64(value)
			g.blockCalls[block]++
			g.blockSum[block] += float64(value)
			g.sumOfSquares += float64(value) * float64(value)
			keys = append(keys, uint64(i)<<32|block<<16|uint64(span.BucketOf(value)))
		}
	}
	slices.Sort(keys)
	for from := 0; from < len(keys); {
		to := from + 1
		for to < len(keys) && keys[to] == keys[from] {
			to++
		}
		g := &t.groups[keys[from]>>32]
		g.cells = append(g.cells, cell{uint8(keys[from] >> 16), uint16(keys[from]), uint32(to - from)})
		from = to
	}
}
