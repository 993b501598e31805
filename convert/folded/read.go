package folded

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/klauspost/compress/gzip"

	"kprof/convert/packed"
	"kprof/convert/stacks"
)

// ReadOptions say how folded text is understood.
type ReadOptions struct {
	// Comm takes the first frame of a line for the label "comm" instead of a
	// function, as stackcollapse-perf.pl and Write write it. Where no line has another
	// frame, or one of these is no comm (py-spy's "<module> (a.py:1)"), all are functions.
	Comm bool
}

// maxLine is how long a line may be.
const maxLine = 16 << 20

// Read reads folded stacks: lines of "outer;inner;innermost 12", the weight
// after the last blank or tab. Empty lines are skipped, and so are lines that begin with
// "#" or "//" and have no weight, or are "# NAME: VALUE". The Set has one event, "samples",
// with one column, samples/count. If a weight has a fraction, all are kept in
// thousandths, rounded, and the column's unit says so.
//
// Lines that begin with "# kprof: " are comments, the first of which may be the header that
// Write makes: the event is the one that it names, and its sums over blocks of time are the
// Set's if all lines are as they were.
//
// A frame is a function without file, mapping or address; equal names are one.
//
// The text may be compressed with gzip. Then no more is kept of it than
// [stacks.MaxKept] allows, which a [stacks.TooLargeError] tells, however far it
// expands.
func Read(r io.Reader, o ReadOptions) (*stacks.Set, error) {
	f := foldedReader{
		set:       stacks.New(stacks.Event{Name: "samples", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}}),
		comm:      o.Comm,
		locations: make(map[string]uint32),
		comms:     make(map[string]stacks.LabelsID),
		scale:     1,
	}
	stored := &counter{r: r}
	br := bufio.NewReaderSize(stored, 1<<20)
	if magic, _ := br.Peek(2); string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(br)
		if err != nil {
			return nil, fmt.Errorf("read folded: %w", &packed.Error{Err: err})
		}
		f.stored = stored
		br = bufio.NewReaderSize(packed.Reader(z), 1<<20)
	}
	var long []byte
	for n := 1; ; n++ {
		line, err := readLine(br, &long)
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("read folded: line %d: %w", n, err)
		}
		if line = bytes.TrimRight(line, " \t\r\n"); bytes.HasPrefix(line, []byte(headerStart)) {
			if n == 1 {
				if f.header = parseHeader(line); f.header != nil {
					f.names += perSum * int64(len(f.header.blocks))
				}
			}
		} else if len(line) > 0 {
			if err := f.line(line); err != nil {
				return nil, fmt.Errorf("read folded: line %d: %w", n, err)
			}
		} else {
			n += skipEmpty(br)
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

// skipEmpty passes over empty lines in br's buffer, and returns how many.
func skipEmpty(br *bufio.Reader) int {
	b, _ := br.Peek(br.Buffered())
	n := len(b) - len(bytes.TrimLeft(b, "\n"))
	n, _ = br.Discard(n)
	return n
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

// counter counts what is read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

type foldedReader struct {
	set       *stacks.Set
	comm      bool
	called    bool // a line has a frame behind that of the comm
	locations map[string]uint32
	comms     map[string]stacks.LabelsID
	chain     []uint32

	stored *counter // of the compressed text; nil if it is not
	names  int64    // about what those in locations and comms take in memory
	since  int      // bytes read since the memory was last looked at

	// The line before, without its weight, and what it came to.
	last   []byte
	stack  stacks.StackID
	labels stacks.LabelsID

	header *header // nil for none

	scale int64   // 1, or 1000 from the first fraction on
	large *weight // the first that is too large for fractions
	sum   uint64  // of all weights, without their signs
}

// errSum: sums would begin anew from below zero.
var errSum = errors.New("the weights add up to more than can be stored")

var errNoWeight = errors.New("no weight")

// weight is whole + milli/1000.
type weight struct {
	whole int64
	milli int32
}

// lookEvery is how many bytes of text are read before it is looked how much memory
// they have come to.
const lookEvery = 256 << 10

// perName is what a name takes beside its bytes: places in three maps and the Set.
const perName = 512

// perSum is what a byte of a header takes, which may be the sum of a block: twice while they
// are put into their order.
const perSum = 2 * 24

// isComment tells whether a line whose end is, or is not, a weight is none of stacks: Austin,
// Python's profiler, writes "# interval: 100" besides.
func isComment(line []byte, weighted bool) bool {
	if key, ok := bytes.CutPrefix(line, []byte("# ")); ok && bytes.IndexByte(line, ';') < 0 {
		i := bytes.IndexByte(key, ' ')
		return !weighted || i > 0 && key[i-1] == ':'
	}
	return !weighted && (line[0] == '#' || bytes.HasPrefix(line, []byte("//")))
}

func (f *foldedReader) line(line []byte) error {
	blank := len(line) - 1
	for blank >= 0 && line[blank] != ' ' && line[blank] != '\t' {
		blank--
	}
	w, err := weight{}, errNoWeight
	if blank >= 0 {
		w, err = parseWeight(string(line[blank+1:]))
	}
	switch {
	case isComment(line, err == nil):
		return nil
	case err != nil:
		return err
	}
	if err := f.look(len(line)); err != nil {
		return err
	}
	if stack := line[:blank]; f.last == nil || !bytes.Equal(stack, f.last) {
		if err := f.frames(stack); err != nil {
			return err
		}
		f.last = append(f.last[:0], stack...)
	}
	if f.sum += min(uint64(w.whole), -uint64(w.whole)); f.sum > math.MaxInt64 {
		return errSum
	}
	row := f.add(w)
	if f.header != nil {
		f.header.add(line, row)
		f.names += 4
	}
	return nil
}

// look counts n bytes of text, and now and then what they came to.
func (f *foldedReader) look(n int) error {
	if f.since += n; f.since < lookEvery || f.stored == nil {
		return nil
	}
	f.since = 0
	if f.names+f.set.Size() > stacks.MaxKept(f.stored.n) {
		return &stacks.TooLargeError{Size: f.stored.n}
	}
	return nil
}

// frames finds the stack and the labels of a line.
func (f *foldedReader) frames(line []byte) error {
	rest, more := line, true
	if f.comm {
		var name []byte
		name, rest, more = bytes.Cut(line, []byte(";"))
		f.called = f.called || more
		ok := false
		if f.labels, ok = f.commLabel(name); !ok {
			if err := f.uncall(); err != nil {
				return err
			}
			rest, more = line, true
		}
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
	f.stack = f.set.Intern(f.chain)
	return nil
}

// add adds a weight to the row of the line. At the first fraction, what the rows
// have becomes thousandths.
func (f *foldedReader) add(w weight) (row int) {
	if f.large == nil && (w.whole > math.MaxInt64/1000-1 || w.whole < math.MinInt64/1000+1) {
		f.large = &w
	}
	if w.milli != 0 && f.scale == 1 {
		f.scale = 1000
		for i := range f.set.NumSamples() {
			x := f.set.Sample(i)
			f.set.Add(0, x.Stack, x.Labels, x.Values[0]*(f.scale-1))
		}
	}
	return f.set.Add(0, f.stack, f.labels, w.whole*f.scale+int64(w.milli))
}

// commLabel returns the label of a comm; it fails if the name is none. What Write made has nothing
// else.
func (f *foldedReader) commLabel(name []byte) (stacks.LabelsID, bool) {
	id, ok := f.comms[string(name)]
	if !ok {
		if f.header == nil && isFunction(name) {
			return 0, false
		}
		id = f.set.InternLabels([]stacks.Label{{Key: "comm", Str: string(name)}})
		f.comms[string(name)] = id
		f.names += int64(len(name)) + perName
	}
	return id, true
}

func (f *foldedReader) location(name []byte) uint32 {
	id, ok := f.locations[string(name)]
	if !ok {
		n := string(name)
		id = f.set.AddLocation(stacks.NoMapping, 0, stacks.KindUnknown)
		f.set.SetLines(id, stacks.Line{Function: f.set.AddFunction(stacks.Function{Name: n, SystemName: n})})
		f.locations[n] = id
		f.names += int64(len(name)) + perName
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
	if f.comm && !f.called && f.header == nil {
		if err := f.uncall(); err != nil {
			return err
		}
	}
	if f.scale == 1 {
		if f.header != nil {
			f.header.finish(f.set)
		}
		return nil
	}
	if f.large != nil {
		return fmt.Errorf("weight %d is too large beside weights with fractions", f.large.whole)
	}
	if f.sum > math.MaxInt64/1000-1 {
		return errSum
	}
	f.set.Events[0].Values[0].Unit = "thousandths"
	return nil
}
