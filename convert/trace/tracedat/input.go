package tracedat

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"kprof/perfevent/abi"
)

// input is the file.
type input struct {
	at    io.ReaderAt
	size  int64
	order abi.Order
}

// from returns what reads from an offset on.
func (in *input) from(off int64) *cursor {
	r := bufio.NewReaderSize(io.NewSectionReader(in.at, off, max(in.size-off, 0)), 1<<16)
	return &cursor{r: r, off: off, left: max(in.size-off, 0), order: in.order}
}

// cursor reads numbers and texts one behind the other. After an error all are zero.
type cursor struct {
	r     *bufio.Reader
	off   int64 // of what is next, in the file or in the section
	left  int64
	order abi.Order
	err   error
	small [8]byte
}

// section returns what reads a section that has been decompressed.
func section(b []byte, o abi.Order) *cursor {
	return &cursor{r: bufio.NewReaderSize(bytes.NewReader(b), min(len(b), 4096)), left: int64(len(b)), order: o}
}

func (c *cursor) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("at offset %d: %s", c.off, fmt.Sprintf(format, args...))
	}
}

// read fills b.
func (c *cursor) read(b []byte) bool {
	if c.err != nil {
		return false
	}
	if int64(len(b)) > c.left {
		c.fail("%d bytes, %d are left", len(b), c.left)
		return false
	}
	n, err := io.ReadFull(c.r, b)
	c.off += int64(n)
	c.left -= int64(n)
	if err != nil {
		c.fail("%v", err)
		return false
	}
	return true
}

func (c *cursor) number(n int) []byte {
	b := c.small[:n]
	if !c.read(b) {
		clear(b)
	}
	return b
}

func (c *cursor) u8() byte    { return c.number(1)[0] }
func (c *cursor) u16() uint16 { return c.order.Uint16(c.number(2)) }
func (c *cursor) u32() uint32 { return c.order.Uint32(c.number(4)) }
func (c *cursor) u64() uint64 { return c.order.Uint64(c.number(8)) }

// bytes reads n bytes, which are there before memory is taken for them.
func (c *cursor) bytes(n int) []byte { return c.text(uint64(n)) }

// text reads a text whose size the file says.
func (c *cursor) text(n uint64) []byte {
	if c.err != nil {
		return nil
	}
	if n > uint64(c.left) || n > maxText {
		c.fail("a text of %d bytes, %d are left", n, c.left)
		return nil
	}
	b := make([]byte, n)
	if !c.read(b) {
		return nil
	}
	return b
}

// cstring reads up to and including a NUL, at most n bytes.
func (c *cursor) cstring(n int) string {
	var b []byte
	for range n {
		x := c.u8()
		if c.err != nil {
			return ""
		}
		if x == 0 {
			return string(b)
		}
		b = append(b, x)
	}
	c.fail("a string without end")
	return ""
}

// expect reads a string that must be there.
func (c *cursor) expect(s string) {
	if b := c.bytes(len(s)); c.err == nil && string(b) != s {
		c.fail("%.20q instead of %q", b, s)
	}
}
