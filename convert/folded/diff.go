package folded

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"

	"kprof/convert/stacks"
)

// DiffOptions say what WriteDiff writes. Scale is needed.
type DiffOptions struct {
	// Scale is what the base's values are multiplied with; they are rounded, and what that takes
	// from one line, or gives it, the next has: so they sum up to what they should.
	Scale      float64
	PlainNames bool // see Options
}

// WriteDiff writes two profiles as difffolded.pl does, "comm;outer;inner 12 15":
// the value of each stack in the base and in the other, sorted by byte; what one
// does not have is 0. Each Set has one event with one column.
func WriteDiff(w io.Writer, base, new *stacks.Set, o DiffOptions) error {
	b := bufio.NewWriter(w)
	left, right := foldedLines(base, o), foldedLines(new, o)
	defer left.close()
	defer right.close()
	rest := 0.0
	for left.next(); left.ok || right.ok || !right.started; {
		if !right.started {
			right.next()
			continue
		}
		order := bytes.Compare(left.stack, right.stack)
		switch {
		case !left.ok:
			order = 1
		case !right.ok:
			order = -1
		}
		stack, x, y := left.stack, left.weight, right.weight
		if order > 0 {
			stack, x = right.stack, 0
		} else if order < 0 {
			y = 0
		}
		b.Write(stack)
		if order <= 0 {
			exact := float64(x)*o.Scale + rest
			if o.Scale != 1 {
				x = int64(math.Floor(exact + 0.5)) // never below 0
				rest = exact - float64(x)
			}
		}
		fmt.Fprintf(b, " %d %d\n", x, y)
		if order <= 0 {
			left.next()
		}
		if order >= 0 {
			right.next()
		}
	}
	for _, l := range []*foldedStream{left, right} {
		if l.err != nil {
			return l.err
		}
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write folded: %w", err)
	}
	return nil
}

// foldedStream is what Write writes, line by line.
type foldedStream struct {
	r       *io.PipeReader
	lines   *bufio.Reader
	long    []byte
	stack   []byte
	weight  int64
	ok      bool
	started bool
	err     error
	done    chan struct{}
}

func foldedLines(s *stacks.Set, o DiffOptions) *foldedStream {
	r, w := io.Pipe()
	f := &foldedStream{r: r, lines: bufio.NewReaderSize(r, 1<<20), done: make(chan struct{})}
	go func() {
		defer close(f.done)
		w.CloseWithError(Write(w, s, Options{PlainNames: o.PlainNames}))
	}()
	return f
}

// next reads a line. At the end, or when there is an error, ok is false.
func (f *foldedStream) next() {
	f.started = true
	line, err := readLine(f.lines, &f.long)
	blank := bytes.LastIndexByte(line, ' ')
	f.ok = err == nil && blank >= 0
	if !f.ok {
		if err != io.EOF {
			f.err = err
		}
		return
	}
	f.stack = append(f.stack[:0], line[:blank]...)
	f.weight, f.err = strconv.ParseInt(string(bytes.TrimSpace(line[blank:])), 10, 64)
	f.ok = f.err == nil
}

// close ends the goroutine that writes.
func (f *foldedStream) close() {
	f.r.Close()
	<-f.done
}
