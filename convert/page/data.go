package page

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"kprof/convert/calltree"
	"kprof/convert/stacks"
)

// pageHead is the first part of the data of a page, as JSON behind its length as
// a varint. Behind it follow columns of varints (encoding/binary's), each whole
// before the next:
//
//	for each node but the root, in preorder:
//	  up        depth of the node before, plus 1, minus its own depth
//	  frame     index into frames
//	for each event:
//	  node      of each row, minus that of the row before, 0 before the first
//	  labels    of each row, index into labels
//	  values    of each row, zigzag; once for each column that has no factor
//	for each event and column, if stacks are cut:
//	  functions number of those that follow
//	  name      of each function, self and total, zigzag
//	time        of each moment, ns since the one before, 0 for the first
//	row         of each moment, in the order of all rows above
//	value       of each moment, zigzag, if weighed
//
// Decoded by html/data.js.
type pageHead struct {
	Title    string   `json:"title"`
	Comments []string `json:"comments"`
	Tabs     []Link   `json:"tabs"`     // pages beside this one, and this one; none if it is alone
	Tab      int      `json:"tab"`      // which of them it is
	Links    []Link   `json:"links"`    // to what else shows the profile
	Live     int      `json:"live"`     // how often a page was written that will be again, else 0
	Start    int64    `json:"start"`    // Unix time in ms, 0 if unknown
	Duration int64    `json:"duration"` // ns, 0 if unknown

	Events []pageEvent `json:"events"`
	Event  int         `json:"event"`  // what is shown first
	Column int         `json:"column"` // of that event

	Names    []string `json:"names"`
	Mappings []string `json:"mappings"` // base names
	BuildIDs []string `json:"buildids"` // of Mappings, "" if unknown or several
	Files    []string `json:"files"`    // the first is ""
	// Frames are six numbers each: name, calltree.FrameKind, mapping or -1, file, line in it
	// where the function begins or 0, and 1 if it is the kernel's. The most frequent comes first.
	Frames []int64 `json:"frames"`

	Keys   []string   `json:"keys"`   // of labels
	Values [][]string `json:"values"` // of each key
	Labels [][]uint32 `json:"labels"` // lists of labels: key, value, key, value, …

	Nodes        int    `json:"nodes"`        // with the root
	Cut          bool   `json:"cut"`          // some stacks do not have all of their frames
	TimedSamples int    `json:"moments"`      // samples whose time is known
	Clock        uint64 `json:"clock,string"` // time of the first, ns of the recording's clock
	Weighed      bool   `json:"weighed"`      // their values are written: they are no equal parts of those of rows
	Select       Select `json:"select"`

	Compare *Compare `json:"compare"` // null if it is no comparison
}

type pageEvent struct {
	Name    string       `json:"name"`
	Columns []pageColumn `json:"columns"`
	Rows    int          `json:"rows"`
	Spans   bool         `json:"spans,omitempty"` // its moments are times between events
}

type pageColumn struct {
	Type string `json:"type"`
	Unit string `json:"unit"`
	// Factor tells that each value is so many times that of the first column,
	// and not written; 0 that values are written.
	Factor int64 `json:"factor"`
	// Weighed tells that values of moments are of this column; else each has an equal part
	// of its row's.
	Weighed bool `json:"weighed"`
}

// pageData is a Set on its way into a page.
type pageData struct {
	head   pageHead
	tree   *calltree.Paths
	frames []uint32  // number in the page of each of the tree's frames
	rows   []pageRow // by event, node and labels
	values []int64   // of the rows

	names     *stringTable
	functions [][]calltree.Cost // by event and column; none unless the tree is cut
	moments   []stacks.TimedSample
	rowOf     []uint32 // number among rows of each of the Set's
}

// pageRow is all rows of a Set that have the same event, labels and names.
type pageRow struct {
	event, node, labels uint32
	value               uint32 // index into pageData.values of the first
}

// pageLimits bound what a page holds.
type pageLimits struct{ nodes, moments int }

// usualLimits keep a page below 20 MB, so that it opens quickly.
var usualLimits = pageLimits{nodes: 4 << 20, moments: 2 << 20}

func newPageData(s *stacks.Set, o Options, limits pageLimits) (*pageData, error) {
	frames := calltree.NewFrames(s, calltree.FrameOptions{Starts: true})
	po := calltree.PathOptions{Most: limits.nodes, Weight: stackWeights(s, o)}
	po.Names, po.NumNames = places(s, frames)
	d := &pageData{moments: s.TimedSamples, tree: calltree.NewPaths(s, frames, po)}
	d.head = pageHead{
		Title:    o.Title,
		Comments: append([]string{}, s.Comments...),
		Tabs:     append([]Link{}, o.tabs...),
		Tab:      o.tab,
		Links:    append([]Link{}, o.links...),
		Live:     o.live,
		Start:    s.TimeNanos / 1e6,
		Duration: s.DurationNanos,
		Event:    o.Event,
		Column:   o.Column,
		Select:   o.Select,
		Compare:  o.Compare.filled(),
		Nodes:    len(d.tree.Frame),
	}
	if d.tree.Cut > 0 {
		d.head.Comments = append(d.head.Comments, fmt.Sprintf("warning: of the lightest %d of %d stacks only the outer frames are kept; they end in %q",
			d.tree.Cut, s.NumStacks(), d.tree.Frames.Names[d.tree.Frames.All[d.tree.CutFrame].Name]))
	}
	if len(d.moments) > limits.moments {
		d.head.Comments = append(d.head.Comments, fmt.Sprintf("warning: the times of %d samples are left out, a page holds up to %d: %s",
			len(d.moments), limits.moments, cmp.Or(o.TimesHint, "take a part of the recording")))
		d.moments = nil
	}
	if d.head.TimedSamples = len(d.moments); len(d.moments) > 0 {
		d.head.Clock = d.moments[0].Time
	}
	d.addFrames(s)
	d.addLabels(s)
	d.addRows(s)
	d.addEvents(s)
	d.weigh()
	if d.head.Cut = d.tree.Cut > 0; d.head.Cut {
		return d, d.addFunctions(s)
	}
	return d, nil
}

// places tells frames apart by name and by what holds them, which a page can show as one:
// a number of each, and how many there are.
func places(s *stacks.Set, t *calltree.Frames) (numbers []uint32, n int) {
	type place struct {
		name, mapping uint32
		kernel        bool
	}
	known, mappings := map[place]uint32{}, newStringTable("")
	for i := range t.All {
		f := &t.All[i]
		p := place{name: f.Name, kernel: inKernel(t, f)}
		if f.Mapping != stacks.NoMapping {
			p.mapping = mappings.id(baseName(s.Mappings[f.Mapping].File))
		}
		id, ok := known[p]
		if !ok {
			id = uint32(len(known))
			known[p] = id
		}
		numbers = append(numbers, id)
	}
	return numbers, len(known)
}

func inKernel(t *calltree.Frames, f *calltree.Frame) bool {
	return calltree.InKernel(&stacks.Location{Mapping: f.Mapping, Kind: f.Code}, t.Names[f.Name])
}

// stackWeights is what part each stack has of the samples, by StackID: of the
// column that is shown first, and of the last column of the other events.
func stackWeights(s *stacks.Set, o Options) []float64 {
	columns, totals := make([]int, len(s.Events)), make([]float64, len(s.Events))
	for i := range s.Events {
		columns[i] = len(s.Events[i].Values) - 1
	}
	columns[o.Event] = o.Column
	size := func(x stacks.Sample) float64 {
		if len(x.Values) == 0 {
			return 0
		}
		return math.Abs(float64(x.Values[columns[x.Event]]))
	}
	for i := range s.NumSamples() {
		x := s.Sample(i)
		totals[x.Event] += size(x)
	}
	weights := make([]float64, s.NumStacks())
	for i := range s.NumSamples() {
		if x := s.Sample(i); totals[x.Event] > 0 {
			weights[x.Stack] += size(x) / totals[x.Event]
		}
	}
	return weights
}

// addFrames numbers frames by how many nodes have them, so that the numbers of
// most nodes are short.
func (d *pageData) addFrames(s *stacks.Set) {
	h, t := &d.head, d.tree.Frames
	nodes := make([]int, len(t.All))
	for _, f := range d.tree.Frame[1:] {
		nodes[f]++
	}
	order := make([]uint32, len(t.All))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortStableFunc(order, func(a, b uint32) int { return cmp.Compare(nodes[b], nodes[a]) })
	for len(order) > 0 && nodes[order[len(order)-1]] == 0 {
		order = order[:len(order)-1]
	}

	d.names, h.Frames = newStringTable(), []int64{}
	mappings, buildIDs := newStringTable(), []string{}
	files := newStringTable("")
	d.frames = make([]uint32, len(t.All))
	for i, id := range order {
		d.frames[id] = uint32(i)
		f := &t.All[id]
		mapping := int64(-1)
		if f.Mapping != stacks.NoMapping {
			m := &s.Mappings[f.Mapping]
			mapping = int64(mappings.id(baseName(m.File)))
			if int(mapping) == len(buildIDs) {
				buildIDs = append(buildIDs, m.BuildID)
			} else if buildIDs[mapping] != m.BuildID {
				buildIDs[mapping] = ""
			}
		}
		kernel := int64(0)
		if inKernel(t, f) {
			kernel = 1
		}
		h.Frames = append(h.Frames, int64(d.names.id(t.Names[f.Name])), int64(f.Kind), mapping, int64(files.id(f.File)), max(f.StartLine, 0), kernel)
	}
	h.Names, h.Mappings, h.BuildIDs, h.Files = d.names.all, mappings.all, buildIDs, files.all
}

// addFunctions adds up functions where the tree cannot tell them.
func (d *pageData) addFunctions(s *stacks.Set) error {
	for i, e := range s.Events {
		for c := range e.Values {
			costs, _, err := calltree.Costs(s, calltree.Options{Event: i, Column: c})
			if err != nil {
				return err
			}
			d.functions = append(d.functions, costs)
			for _, x := range costs {
				d.names.id(x.Name)
			}
		}
	}
	d.head.Names = d.names.all
	return nil
}

func baseName(file string) string { return file[strings.LastIndexByte(file, '/')+1:] }

func (d *pageData) addLabels(s *stacks.Set) {
	h := &d.head
	keys := newStringTable()
	var values []*stringTable
	h.Labels = make([][]uint32, s.NumLabels())
	for i := range h.Labels {
		h.Labels[i] = []uint32{}
		for _, l := range s.Labels(stacks.LabelsID(i)) {
			k := keys.id(l.Key)
			if int(k) == len(values) {
				values = append(values, newStringTable())
			}
			h.Labels[i] = append(h.Labels[i], k, values[k].id(labelText(l)))
		}
	}
	h.Keys, h.Values = keys.all, make([][]string, len(values))
	for i, v := range values {
		h.Values[i] = v.all
	}
}

// labelText is what a label's value reads as.
func labelText(l stacks.Label) string {
	if l.Str != "" {
		return l.Str
	}
	n := strconv.FormatInt(l.Num, 10)
	if l.Unit != "" && l.Unit != l.Key {
		n += " " + l.Unit
	}
	return n
}

// addRows gathers the rows that read the same: stacks of different addresses
// often have the same names.
func (d *pageData) addRows(s *stacks.Set) {
	d.rows = make([]pageRow, s.NumSamples())
	for i := range d.rows {
		x := s.Sample(i)
		d.rows[i] = pageRow{uint32(x.Event), d.tree.Leaf[x.Stack], uint32(x.Labels), uint32(i)}
	}
	slices.SortFunc(d.rows, func(a, b pageRow) int {
		return cmp.Or(cmp.Compare(a.event, b.event), cmp.Compare(a.node, b.node),
			cmp.Compare(a.labels, b.labels), cmp.Compare(a.value, b.value))
	})
	d.rowOf = make([]uint32, len(d.rows))
	rows := d.rows[:0]
	for _, r := range d.rows {
		values := s.Sample(int(r.value)).Values
		if n := len(rows); n > 0 && rows[n-1].event == r.event && rows[n-1].node == r.node && rows[n-1].labels == r.labels {
			for c, v := range values {
				d.values[rows[n-1].value+uint32(c)] += v
			}
			d.rowOf[r.value] = uint32(len(rows) - 1)
			continue
		}
		d.rowOf[r.value] = uint32(len(rows))
		r.value = uint32(len(d.values))
		d.values = append(d.values, values...)
		rows = append(rows, r)
	}
	d.rows = rows
}

func (d *pageData) addEvents(s *stacks.Set) {
	d.head.Events = make([]pageEvent, len(s.Events))
	for i, e := range s.Events {
		p := &d.head.Events[i]
		p.Spans = e.IsSpans()
		p.Name = e.Name
		p.Columns = make([]pageColumn, len(e.Values))
		rows := d.eventRows(uint32(i))
		p.Rows = len(rows)
		for c, v := range e.Values {
			p.Columns[c] = pageColumn{Type: v.Type, Unit: v.Unit}
			if c > 0 {
				p.Columns[c].Factor = d.factor(rows, uint32(c))
			}
		}
	}
}

func (d *pageData) eventRows(event uint32) []pageRow {
	from, _ := slices.BinarySearchFunc(d.rows, event, func(r pageRow, e uint32) int { return cmp.Compare(r.event, e) })
	to, _ := slices.BinarySearchFunc(d.rows, event+1, func(r pageRow, e uint32) int { return cmp.Compare(r.event, e) })
	return d.rows[from:to]
}

// factor returns how many times the first column all values of column c are, 0
// if they are not, or if a page, which counts in floating point, would not get
// the same.
func (d *pageData) factor(rows []pageRow, c uint32) int64 {
	const exact = 1 << 53
	var f int64
	for _, r := range rows {
		a, b := d.values[r.value], d.values[r.value+c]
		if f == 0 && a != 0 {
			f = b / a
		}
		if f == 0 && b != 0 || f*a != b || b >= exact || b <= -exact {
			return 0
		}
	}
	return f
}

// weigh finds the columns that the values of moments are of, where they are not equal
// parts of those of their rows.
func (d *pageData) weigh() {
	sums, counts := make([]int64, len(d.rows)), make([]int64, len(d.rows))
	for _, m := range d.moments {
		sums[d.rowOf[m.Sample]] += m.Value
		counts[d.rowOf[m.Sample]]++
	}
	for e := range d.head.Events {
		first, _ := slices.BinarySearchFunc(d.rows, uint32(e), func(r pageRow, e uint32) int { return cmp.Compare(r.event, e) })
		rows := d.eventRows(uint32(e))
		for c := range d.head.Events[e].Columns {
			same, timed := true, false
			for i, r := range rows {
				n := counts[first+i]
				same = same && (n == 0 || sums[first+i] == d.values[r.value+uint32(c)])
				timed = timed || n > 0
			}
			d.head.Events[e].Columns[c].Weighed = same && timed
		}
	}
	for _, m := range d.moments {
		row := d.rowOf[m.Sample]
		weighed := slices.ContainsFunc(d.head.Events[d.rows[row].event].Columns, func(c pageColumn) bool { return c.Weighed })
		if weighed && m.Value*counts[row] != sums[row] {
			d.head.Weighed = true
			break
		}
	}
}

// write writes the head and the columns.
func (d *pageData) write(w io.Writer) error {
	head, err := json.Marshal(d.head)
	if err != nil {
		return fmt.Errorf("encode the page's head: %w", err)
	}
	c := columnWriter{w: bufio.NewWriterSize(w, 1<<16)}
	c.put(uint64(len(head)))
	c.w.Write(head)

	depth := d.tree.Depth
	for i := 1; i < len(depth); i++ {
		c.put(uint64(depth[i-1] + 1 - depth[i]))
	}
	for _, f := range d.tree.Frame[1:] {
		c.put(uint64(d.frames[f]))
	}
	for i, e := range d.head.Events {
		rows := d.eventRows(uint32(i))
		last := uint32(0)
		for _, r := range rows {
			c.put(uint64(r.node - last))
			last = r.node
		}
		for _, r := range rows {
			c.put(uint64(r.labels))
		}
		for k, col := range e.Columns {
			if col.Factor != 0 {
				continue
			}
			for _, r := range rows {
				c.putSigned(d.values[r.value+uint32(k)])
			}
		}
	}
	for _, costs := range d.functions {
		c.put(uint64(len(costs)))
		for _, x := range costs {
			c.put(uint64(d.names.id(x.Name)))
			c.putSigned(x.Self)
			c.putSigned(x.Cum)
		}
	}
	last := d.head.Clock
	for _, m := range d.moments {
		c.put(m.Time - last)
		last = m.Time
	}
	for _, m := range d.moments {
		c.put(uint64(d.rowOf[m.Sample]))
	}
	if d.head.Weighed {
		for _, m := range d.moments {
			c.putSigned(m.Value)
		}
	}
	return c.w.Flush()
}
