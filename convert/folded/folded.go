// Package folded writes a Set as folded stacks, and reads them.
package folded

import (
	"fmt"
	"io"

	"kprof/convert/intern"
	"kprof/convert/stacks"
)

// Options say what Write writes.
type Options struct {
	// Event is an index into Set.Events, which are never merged, Column which of its values is a
	// line's weight.
	Event, Column int
	// PlainNames leaves names as they are, except for ";", line ends and NUL. Default:
	// shortened as stackcollapse-perf.pl does.
	PlainNames bool
	// Header puts a comment ahead with the event's name, the duration, and the sums over blocks
	// of time (Set.BlockSums), where the Set has them of this column.
	Header bool
}

// Write writes the samples of one event as folded stacks, "comm;outer;inner 12",
// sorted by byte: the lines, and the order, that stackcollapse-perf.pl makes of
// perf script's text. Stacks that read the same are one line, whatever their
// addresses and processes. The comm is that of the samples' label "comm"; a
// sample without one starts with its outermost frame. A sample without any frame
// is called "[unknown]". Frames of labels (Set.IsLabel) keep the whole value. Lines whose weight is 0
// are left out.
//
// The work is done in three steps, each by as many goroutines as there are CPUs,
// all of which have ended when Write returns:
//
//  1. Stacks that read the same are found by a hash of the ids of their frames'
//     names, and rows summed by stack and comm (merge.go).
//  2. What is left is sorted, by ranks of names instead of text (sort.go).
//  3. Lines are made in chunks, and written in order (lines.go).
func Write(w io.Writer, s *stacks.Set, o Options) error {
	if err := s.CheckSum(o.Event, o.Column); err != nil {
		return fmt.Errorf("write folded: %w", err)
	}
	f := newFrames(s, o)
	var firstRows []uint32
	if o.Header {
		firstRows = make([]uint32, s.NumSamples())
	}
	lines := mergeRows(s, f, o, firstRows)
	sortLines(s, f, lines)
	if o.Header {
		if err := writeHeader(w, s, o, f, lines, blocksOf(s, o, lines, firstRows)); err != nil {
			return fmt.Errorf("write folded: %w", err)
		}
	}
	if err := writeLines(w, s, f, lines); err != nil {
		return fmt.Errorf("write folded: %w", err)
	}
	return nil
}

// line is a distinct folded line: of the rows that it stands for, the stack and
// labels of the first, and the sum of the weights.
type line struct {
	stack  stacks.StackID
	labels stacks.LabelsID
	weight int64
	key    uint64 // part of the ranks of its names, while sorted
}

// frames holds the names of a Set's frames, each once, and which of them each
// location and label list stands for.
type frames struct {
	names intern.Strings
	// one[loc] is the name of a location with a single frame, else many|i, of
	// which the frames are lists[i], outermost first.
	one   []uint32
	lists [][]uint32
	// java[name] is what a name is under a java comm; nil if no comm is.
	java    []uint32
	comm    []root // by LabelsID
	nothing uint32 // "[unknown]"
}

const many = 1 << 31

// root is what stands before a stack's frames.
type root struct {
	name uint32 // or none
	java bool
}

const none = ^uint32(0)

func newFrames(s *stacks.Set, o Options) *frames {
	var n frameNamer = scriptNamer{}
	if o.PlainNames {
		n = plainNamer{}
	}
	f := &frames{}
	f.locations(s, n)
	f.comms(s, n)
	return f
}

func (f *frames) locations(s *stacks.Set, n frameNamer) {
	functions := make([][]uint32, len(s.Functions))
	var names []string
	for i, fn := range s.Functions {
		names = n.appendFrames(names[:0], fn.Name)
		for _, x := range names {
			functions[i] = append(functions[i], f.names.ID(x))
		}
	}
	unnamed := make([]uint32, len(s.Mappings))
	for i := range s.Mappings {
		unnamed[i] = f.names.ID(n.unnamed(&s.Mappings[i]))
	}
	f.nothing = f.names.ID(n.unnamed(nil))

	f.one = make([]uint32, len(s.Locations))
	for loc := range s.Locations {
		lines := s.Lines(uint32(loc))
		switch m := s.Locations[loc].Mapping; {
		case s.IsLabel(uint32(loc)):
			f.one[loc] = f.names.ID(separators.Replace(s.Functions[lines[0].Function].Name))
		case len(lines) == 1 && len(functions[lines[0].Function]) == 1:
			f.one[loc] = functions[lines[0].Function][0]
		case len(lines) > 0:
			var all []uint32
			for i := len(lines) - 1; i >= 0; i-- {
				all = append(all, functions[lines[i].Function]...)
			}
			f.one[loc] = many | uint32(len(f.lists))
			f.lists = append(f.lists, all)
		case m >= 0:
			f.one[loc] = unnamed[m]
		default:
			f.one[loc] = f.nothing
		}
	}
}

func (f *frames) comms(s *stacks.Set, n frameNamer) {
	_, script := n.(scriptNamer)
	java := false
	f.comm = make([]root, s.NumLabels())
	for i := range f.comm {
		l, ok := s.Label(stacks.LabelsID(i), "comm")
		if !ok {
			f.comm[i].name = none
			continue
		}
		name := n.comm(l.Str)
		f.comm[i] = root{f.names.ID(name), script && len(name) >= 4 && name[:4] == "java"}
		java = java || f.comm[i].java
	}
	if !java {
		return
	}
	for i := range f.names.All {
		f.java = append(f.java, f.names.ID(javaName(f.names.All[i])))
	}
	for i := len(f.java); i < len(f.names.All); i++ { // those just made
		f.java = append(f.java, uint32(i))
	}
}

// appendNames appends the names of a stack under its comm, from the root to the
// leaf, at least one.
func (f *frames) appendNames(dst []uint32, s *stacks.Set, id stacks.StackID, labels stacks.LabelsID) []uint32 {
	start := len(dst)
	r := f.comm[labels]
	if r.name != none {
		dst = append(dst, r.name)
	}
	if dst = f.appendFrames(dst, s.Stack(id), r.java); len(dst) == start {
		dst = append(dst, f.nothing)
	}
	return dst
}

// appendFrames appends the names of a stack's frames, from the root to the leaf,
// as they are under java's comm or any other.
func (f *frames) appendFrames(dst []uint32, stack []uint32, java bool) []uint32 {
	first := len(dst)
	for i := len(stack) - 1; i >= 0; i-- {
		if id := f.one[stack[i]]; id < many {
			dst = append(dst, id)
		} else {
			dst = append(dst, f.lists[id&^many]...)
		}
	}
	if java {
		for i, id := range dst[first:] {
			dst[first+i] = f.java[id]
		}
	}
	return dst
}

// window is names[from:to] of what appendNames appends to nothing, as far as
// there are that many, and whether the last of them is the last of all. It looks
// at no more of the stack than it has to where each location is one name.
func (f *frames) window(dst []uint32, s *stacks.Set, l *line, from, to int) (names []uint32, last bool) {
	r := f.comm[l.labels]
	if len(f.lists) > 0 || r.java || r.name == none {
		names = f.appendNames(dst, s, l.stack, l.labels)
		n := len(names)
		return names[min(from, n):min(to, n)], from < n && n <= to
	}
	if from == 0 {
		dst = append(dst, r.name)
		from++
	}
	stack := s.Stack(l.stack)
	n := len(stack) + 1
	for i := from; i < min(to, n); i++ {
		dst = append(dst, f.one[stack[n-1-i]])
	}
	return dst, len(dst) > 0 && n <= to
}
