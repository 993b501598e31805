package perfdata

import (
	"bytes"
	"fmt"
	"reflect"

	"kprof/perfevent/abi"
)

// stringAlign is what perf pads header strings to (NAME_ALIGN in
// tools/perf/util/header.h).
const stringAlign = 64

// cursor reads a feature body. After the first error every read gives zeros.
type cursor struct {
	b      []byte
	off    int
	o      abi.Order
	err    error
	listed int // bytes of all lists, without what their elements refer to
}

// listMemory is what the lists of a small feature may take, in bytes.
const listMemory = 8 << 20

func (c *cursor) left() int { return len(c.b) - c.off }

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("at offset %d: %w", c.off, fmt.Errorf(format, args...))
	}
}

// take returns the next n bytes, or nil.
func (c *cursor) take(n int) []byte {
	if c.err != nil {
		return nil
	}
	if n < 0 || n > c.left() {
		c.fail("%d bytes wanted, %d left", n, c.left())
		return nil
	}
	b := c.b[c.off : c.off+n : c.off+n]
	c.off += n
	return b
}

func (c *cursor) u32() uint32 {
	if b := c.take(4); b != nil {
		return c.o.Uint32(b)
	}
	return 0
}

func (c *cursor) u64() uint64 {
	if b := c.take(8); b != nil {
		return c.o.Uint64(b)
	}
	return 0
}

// count checks that n elements of at least size bytes can follow, so that n may
// be allocated.
func (c *cursor) count(n uint64, size int) int {
	if c.err == nil && n > uint64(c.left()/size) {
		c.fail("%d elements of at least %d bytes, %d bytes left", n, size, c.left())
	}
	if c.err != nil {
		return 0
	}
	return int(n)
}

// version fails when a format is not the one known.
func (c *cursor) version(got, want uint64) {
	if c.err == nil && got != want {
		c.fail("version %d, not %d", got, want)
	}
}

// string reads a length, and that many bytes up to the first NUL.
func (c *cursor) string() string {
	n := c.u32()
	if c.err == nil && uint64(n) > uint64(c.left()) {
		c.fail("string of %d bytes, %d left", n, c.left())
		return ""
	}
	return cstring(c.take(int(n)))
}

// strings reads a count and that many strings.
func (c *cursor) strings() []string {
	return list(c, uint64(c.u32()), 4, c.string)
}

// hold counts n bytes of elements, and fails when there are too many: empty ones
// are larger in memory than in a file, but those of real machines are not empty.
func (c *cursor) hold(n int) bool {
	if c.listed += n; c.listed > listMemory+2*len(c.b) {
		c.fail("too many elements for %d bytes", len(c.b))
	}
	return c.err == nil
}

// list reads n elements of at least size bytes; nil when there are none.
func list[T any](c *cursor, n uint64, size int, read func() T) []T {
	k := c.count(n, size)
	if k == 0 || !c.hold(k*int(reflect.TypeFor[T]().Size())) {
		return nil
	}
	l := make([]T, 0, k)
	for range k {
		l = append(l, read())
		if c.err != nil {
			return nil
		}
	}
	return l
}

// cstring is b up to its first NUL.
func cstring(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// encoder appends a feature body.
type encoder struct {
	b []byte
	o abi.Order
}

func (e *encoder) u32(v uint32) { e.b = e.o.AppendUint32(e.b, v) }
func (e *encoder) u64(v uint64) { e.b = e.o.AppendUint64(e.b, v) }

func (e *encoder) string(s string) {
	n := align(len(s)+1, stringAlign)
	e.u32(uint32(n))
	e.b = append(e.b, s...)
	e.b = append(e.b, make([]byte, n-len(s))...)
}

func (e *encoder) strings(l []string) {
	e.u32(uint32(len(l)))
	for _, s := range l {
		e.string(s)
	}
}

func align(n, to int) int { return (n + to - 1) / to * to }
