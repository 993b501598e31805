package render

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"kprof/convert/stacks"
)

// FoldedReadOptions say how folded text is understood.
type FoldedReadOptions struct {
	// Comm takes the first frame of a line for the label "comm" instead of a
	// function, as stackcollapse-perf.pl and Folded write it.
	Comm bool
}

// maxLine is how long a line may be.
const maxLine = 16 << 20

// FoldedRead reads folded stacks: lines of "outer;inner;innermost 12", the weight
// after the last blank. Empty lines are skipped. The Set has one event, "samples",
// with one column, samples/count. If a weight has a fraction, all are kept in
// thousandths, rounded, and the column's unit says so.
//
// A frame is a function without file, mapping or address; equal names are one.
func FoldedRead(r io.Reader, o FoldedReadOptions) (*stacks.Set, error) {
	f := foldedReader{
		set:       stacks.New(),
		comm:      o.Comm,
		locations: make(map[string]uint32),
		comms:     make(map[string]stacks.LabelsID),
	}
	br := bufio.NewReaderSize(r, 1<<20)
	var long []byte
	for n := 1; ; n++ {
		line, err := readLine(br, &long)
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("read folded: line %d: %w", n, err)
		}
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 {
			if err := f.line(line); err != nil {
				return nil, fmt.Errorf("read folded: line %d: %w", n, err)
			}
		}
		if err == io.EOF {
			break
		}
	}
	if err := f.finish(); err != nil {
		return nil, fmt.Errorf("read folded: %w", err)
	}
	return f.set, nil
}

// readLine returns a line, valid until the next call. What does not fit into br
// is collected in long.
func readLine(br *bufio.Reader, long *[]byte) ([]byte, error) {
	line, err := br.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		return line, err
	}
	*long = append((*long)[:0], line...)
	for err == bufio.ErrBufferFull {
		if len(*long) > maxLine {
			return nil, fmt.Errorf("longer than %d MiB", maxLine>>20)
		}
		line, err = br.ReadSlice('\n')
		*long = append(*long, line...)
	}
	return *long, err
}

type foldedReader struct {
	set       *stacks.Set
	comm      bool
	locations map[string]uint32
	comms     map[string]stacks.LabelsID
	chain     []uint32

	// Values are added at the end, when it is known whether there are fractions.
	weights    []weight
	fractional bool
}

// weight is whole + milli/1000, of a stack.
type weight struct {
	stack  stacks.StackID
	labels stacks.LabelsID
	whole  int64
	milli  int32
}

func (f *foldedReader) line(line []byte) error {
	blank := bytes.LastIndexByte(line, ' ')
	if blank < 0 {
		return errors.New("no weight")
	}
	w, err := parseWeight(string(line[blank+1:]))
	if err != nil {
		return err
	}
	f.fractional = f.fractional || w.milli != 0
	rest, more := line[:blank], true
	var name []byte
	if f.comm {
		name, rest, more = bytes.Cut(rest, []byte(";"))
		w.labels = f.commLabel(name)
	}
	f.chain = f.chain[:0]
	// The leaf is last in the line and first in a stack.
	for more {
		i := bytes.LastIndexByte(rest, ';')
		f.chain = append(f.chain, f.location(rest[i+1:]))
		more = i >= 0
		rest = rest[:max(i, 0)]
	}
	if len(f.chain) > stacks.MaxDepth {
		return fmt.Errorf("%d frames, at most %d can be stored", len(f.chain), stacks.MaxDepth)
	}
	w.stack = f.set.Intern(f.chain)
	f.weights = append(f.weights, w)
	return nil
}

func (f *foldedReader) commLabel(name []byte) stacks.LabelsID {
	id, ok := f.comms[string(name)]
	if !ok {
		id = f.set.InternLabels([]stacks.Label{{Key: "comm", Str: string(name)}})
		f.comms[string(name)] = id
	}
	return id
}

func (f *foldedReader) location(name []byte) uint32 {
	id, ok := f.locations[string(name)]
	if !ok {
		n := string(name)
		id = f.set.AddLocation(stacks.NoMapping, 0, stacks.KindUnknown)
		f.set.SetLines(id, stacks.Line{Function: f.set.AddFunction(stacks.Function{Name: n, SystemName: n})})
		f.locations[n] = id
	}
	return id
}

// parseWeight reads a decimal number, rounded to thousandths.
func parseWeight(s string) (weight, error) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return weight{whole: n}, nil
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || math.Abs(x) >= 1<<63 || x != x {
		return weight{}, fmt.Errorf("weight %.40q is not a number, or too large", s)
	}
	whole, part := math.Modf(x)
	return weight{whole: int64(whole), milli: int32(math.Round(part * 1000))}, nil
}

func (f *foldedReader) finish() error {
	unit, scale := "count", int64(1)
	if f.fractional {
		unit, scale = "thousandths", 1000
	}
	f.set.AddEvent(stacks.Event{Name: "samples", Values: []stacks.ValueType{{Type: "samples", Unit: unit}}})
	for _, w := range f.weights {
		if w.whole > math.MaxInt64/scale-1 || w.whole < math.MinInt64/scale+1 {
			return fmt.Errorf("weight %d is too large beside weights with fractions", w.whole)
		}
		f.set.Add(0, w.stack, w.labels, w.whole*scale+int64(w.milli))
	}
	return nil
}
