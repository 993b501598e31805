package page

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"kprof/convert/calltree"
	"kprof/convert/stacks"
)

// dataFormat is the number of the layout of a page's data, another one whenever that changes.
const dataFormat = 2

// pageHead is the first part of the data of a page, as JSON behind its length as
// a varint. Behind it follow columns of varints (encoding/binary's), each whole
// before the next:
//
//	for each frame, and the root:
//	  callees   number of the frames that are right below it anywhere
//	  frame     of each of these, index into frames
//	for each node but the root, in preorder:
//	  up        depth of the node before, plus 1, minus its own depth
//	  callee    index into those of its parent's frame
//	for each event:
//	  node      of each row, minus that of the row before, 0 before the first
//	  labels    of each row, index into labels
//	  values    of each row, zigzag; once for each column that has no factor
//	for each event and column, if stacks are cut:
//	  functions number of those that follow
//	  name      of each function, self and total, zigzag
//	if there are moments:
//	  bin       of the first moment of each of labels, 0 without any
//	  moments   number of each row's, of events that are not counted
//	  bin       of each moment, by row and from the first on, minus that of the one before
//	            of its row, or the first one of its labels
//	  value     of each moment, likewise, zigzag, if weighed
//
// A bin is when a moment was, in whole bins after the clock. Decoded by html/data.js, and by
// convert/pagefile.
type pageHead struct {
	Format   int      `json:"format"` // dataFormat
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
	Bin          uint64 `json:"bin"`          // ns that times are told apart by, 1 if they are exact
	Weighed      bool   `json:"weighed"`      // their values are written: they are no equal parts of those of rows
	Select       Select `json:"select"`
	Source       Source `json:"source"`

	Compare *Compare `json:"compare"` // null if it is no comparison
}

type pageEvent struct {
	Name     string       `json:"name"`
	Columns  []pageColumn `json:"columns"`
	Rows     int          `json:"rows"`
	Spans    bool         `json:"spans,omitempty"`    // its moments are times between events
	Counted  bool         `json:"counted"`            // its first column is the number of moments
	Instants bool         `json:"instants,omitempty"` // as stacks.Event has it
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
	callees   [][]uint32        // of each frame of the page, and of the root, see pageHead
	ranks     []uint32          // of each node but the root: index into callees of its parent's frame
	moments   []stacks.TimedSample
	rowOf     []uint32 // number among rows of each of the Set's
	counts    []uint32 // moments of each row
}

// pageRow is all rows of a Set that have the same event, labels and names.
type pageRow struct {
	event, node, labels uint32
	value               uint32 // index into pageData.values of the first
}

// pageLimits bound what a page holds: nodes of its tree, samples with times, and bits of these.
type pageLimits struct{ nodes, moments, timeBits int }

// MaxTimes is the number of samples up to which a page has their times.
const MaxTimes = 2 << 20

// usualLimits keep a page below 20 MB, so that it opens quickly.
var usualLimits = pageLimits{nodes: 4 << 20, moments: MaxTimes, timeBits: 13 << 20}

func newPageData(s *stacks.Set, o Options, limits pageLimits) (*pageData, error) {
	if err := s.CheckColumn(o.Event, o.Column); err != nil {
		return nil, err
	}
	frames := calltree.NewFrames(s, calltree.FrameOptions{Starts: true})
	po := calltree.PathOptions{Most: limits.nodes, Weight: stackWeights(s, o)}
	po.Names, po.NumNames = places(s, frames)
	d := &pageData{tree: calltree.NewPaths(s, frames, po)}
	d.head = pageHead{
		Format:   dataFormat,
		Title:    cmp.Or(o.Title, "kprof"),
		Comments: append([]string{}, s.Comments...),
		Tabs:     append([]Link{}, o.tabs...),
		Tab:      o.tab,
		Links:    append([]Link{}, o.links...),
		Source:   o.Source,
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
	d.addFrames(s)
	d.addLabels(s)
	d.addRows(s)
	d.addEvents(s)
	d.addTimes(s, &o, limits)
	if d.head.Cut = d.tree.Cut > 0; d.head.Cut {
		return d, d.addFunctions(s)
	}
	return d, nil
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
	d.head.Names = d.names.All
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
	h.Keys, h.Values = keys.All, make([][]string, len(values))
	for i, v := range values {
		h.Values[i] = v.All
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
