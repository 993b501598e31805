package viewer

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// jsonWriter writes JSON piece by piece. The first error of the writer below is
// that of finish.
type jsonWriter struct {
	w   *bufio.Writer
	buf []byte // scratch
}

func newJSONWriter(w io.Writer) *jsonWriter { return &jsonWriter{w: bufio.NewWriterSize(w, 1<<16)} }

// finish writes what is left, for a viewer.
func (j *jsonWriter) finish(viewer string) error {
	if err := j.w.Flush(); err != nil {
		return fmt.Errorf("write %s: %w", viewer, err)
	}
	return nil
}

// raw writes what is JSON already.
func (j *jsonWriter) raw(s string) { j.w.WriteString(s) }

// text writes a string.
func (j *jsonWriter) text(s string) { j.w.Write(jsonText(s)) }

// value writes what encoding/json makes of v, which cannot fail.
func (j *jsonWriter) value(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	j.w.Write(b)
}

// column writes ,"name":[…] of n elements, each appended by elem.
func (j *jsonWriter) column(name string, n int, elem func(b []byte, i int) []byte) {
	j.raw(`,"` + name + `":`)
	j.array(n, elem)
}

// array writes [a,b,…] of n elements, each appended by elem.
func (j *jsonWriter) array(n int, elem func(b []byte, i int) []byte) {
	j.w.WriteByte('[')
	for i := range n {
		b := j.buf[:0]
		if i > 0 {
			b = append(b, ',')
		}
		j.buf = elem(b, i)
		j.w.Write(j.buf)
	}
	j.w.WriteByte(']')
}

// same is a column's element that is the same for all rows.
func same(s string) func(b []byte, i int) []byte {
	return func(b []byte, _ int) []byte { return append(b, s...) }
}

// jsonText is s as a JSON string, in which bytes that are not UTF-8 have become
// U+FFFD.
func jsonText(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // no string has one
	}
	return b
}

// toMilliseconds appends a number of a unit of time as ms, toMicroseconds as µs, in decimal.
var (
	toMilliseconds = map[string]func(b []byte, n int64) []byte{
		"nanoseconds": appendMillionths, "microseconds": appendThousandths, "milliseconds": appendWhole, "seconds": appendThousands,
	}
	toMicroseconds = map[string]func(b []byte, n int64) []byte{
		"nanoseconds": appendThousandths, "microseconds": appendWhole, "milliseconds": appendThousands, "seconds": appendMillions,
	}
)

func appendWhole(b []byte, n int64) []byte { return strconv.AppendInt(b, n, 10) }

// appendThousands appends 1000*n, which an int64 may not hold.
func appendThousands(b []byte, n int64) []byte { return appendZeros(b, n, "000") }

func appendMillions(b []byte, n int64) []byte { return appendZeros(b, n, "000000") }

func appendZeros(b []byte, n int64, zeros string) []byte {
	if b = strconv.AppendInt(b, n, 10); n == 0 {
		return b
	}
	return append(b, zeros...)
}

// appendThousandths appends n/1000 in decimal, without trailing zeros.
func appendThousandths(b []byte, n int64) []byte { return appendFraction(b, n, 1000) }

// appendMillionths appends n/1,000,000 in decimal, without trailing zeros.
func appendMillionths(b []byte, n int64) []byte { return appendFraction(b, n, 1_000_000) }

func appendFraction(b []byte, n, unit int64) []byte {
	if n < 0 {
		b = append(b, '-')
	}
	whole, rest := n/unit, n%unit
	if whole < 0 || rest < 0 {
		whole, rest = -whole, -rest
	}
	b = strconv.AppendUint(b, uint64(whole), 10)
	if rest == 0 {
		return b
	}
	b = append(b, '.')
	for ; rest > 0; rest %= unit {
		unit /= 10
		b = append(b, byte('0'+rest/unit))
	}
	return b
}
