package srcline

import (
	"bytes"
	"encoding/binary"
)

// cursor reads numbers one after the other. Past the end it reads zeros, is
// bad, and stays at the end, so that loops end.
type cursor struct {
	b   []byte
	off int
	big bool
	bad bool
}

func (c *cursor) fail() {
	c.bad = true
	c.off = len(c.b)
}

// seek moves to an offset, which may come from the file.
func (c *cursor) seek(off uint64) {
	if off > uint64(len(c.b)) {
		c.fail()
		return
	}
	c.off = int(off)
}

func (c *cursor) skip(n uint64) {
	if n > uint64(len(c.b)-c.off) {
		c.fail()
		return
	}
	c.off += int(n)
}

func (c *cursor) done() bool { return c.off >= len(c.b) }

func (c *cursor) u8() uint8 {
	if c.off >= len(c.b) {
		c.fail()
		return 0
	}
	v := c.b[c.off]
	c.off++
	return v
}

func (c *cursor) u16() uint16 { return uint16(c.uint(2)) }
func (c *cursor) u32() uint32 { return uint32(c.uint(4)) }

// uint reads an integer of up to 8 bytes.
func (c *cursor) uint(size int) uint64 {
	if size > len(c.b)-c.off {
		c.fail()
		return 0
	}
	b := c.b[c.off : c.off+size]
	c.off += size
	switch {
	case size == 4 && !c.big:
		return uint64(binary.LittleEndian.Uint32(b))
	case size == 8 && !c.big:
		return binary.LittleEndian.Uint64(b)
	case size == 8:
		return binary.BigEndian.Uint64(b)
	}
	var v uint64
	for i := range b {
		if c.big {
			v = v<<8 | uint64(b[i])
		} else {
			v |= uint64(b[i]) << (8 * i)
		}
	}
	return v
}

// uleb reads a LEB128 number; what does not fit into 64 bits is dropped.
func (c *cursor) uleb() uint64 {
	if c.off < len(c.b) {
		if v := c.b[c.off]; v < 0x80 {
			c.off++
			return uint64(v)
		}
	}
	var v uint64
	for shift := uint(0); ; shift += 7 {
		b := c.u8()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
}

func (c *cursor) sleb() int64 {
	var v int64
	for shift := uint(0); ; {
		b := c.u8()
		v |= int64(b&0x7f) << shift
		shift += 7
		if b < 0x80 {
			if shift < 64 && b&0x40 != 0 {
				v |= -1 << shift
			}
			return v
		}
	}
}

func (c *cursor) skipLEB() {
	for c.u8() >= 0x80 {
	}
}

// maxString bounds a name or a directory.
const maxString = 1 << 16

// skipString passes over a zero-terminated string.
func (c *cursor) skipString() {
	i := bytes.IndexByte(c.b[c.off:], 0)
	if i < 0 {
		c.fail()
		return
	}
	c.off += i + 1
}

// length reads the size that DWARF units start with, which also tells the size
// of offsets in them.
func (c *cursor) length() (n uint64, offSize uint8) {
	n = uint64(c.u32())
	switch {
	case n == 0xffffffff:
		return c.uint(8), 8
	case n >= 0xfffffff0:
		c.fail() // reserved
	}
	return n, 4
}

// stringAt returns the zero-terminated string at off, nil if there is none.
func stringAt(table []byte, off uint64) []byte {
	if off >= uint64(len(table)) {
		return nil
	}
	s := table[off:]
	s = s[:min(len(s), maxString)]
	if i := bytes.IndexByte(s, 0); i >= 0 {
		return s[:i]
	}
	return nil
}
