package unwind

import "bytes"

// Encodings of addresses (DW_EH_PE_*): a format, and what they are relative to.
const (
	encOmit    = 0xff
	encULEB    = 0x01
	encUData2  = 0x02
	encUData4  = 0x03
	encUData8  = 0x04
	encSLEB    = 0x09
	encSData2  = 0x0a
	encSData4  = 0x0b
	encSData8  = 0x0c
	encPCRel   = 0x10
	encDataRel = 0x30
	encFormat  = 0x0f
	encBase    = 0xf0
)

// cursor reads a section that begins at addr. What is read behind the end is 0, and
// bad is then true.
type cursor struct {
	data []byte
	off  int
	addr uint64
	bad  bool

	narrow bool // addresses have 4 bytes
}

func (c *cursor) left() int { return len(c.data) - c.off }

func (c *cursor) take(n int) []byte {
	if c.bad || n > c.left() {
		c.bad = true
		return make([]byte, 8)
	}
	b := c.data[c.off : c.off+n]
	c.off += n
	return b
}

func (c *cursor) u8() byte    { return c.take(1)[0] }
func (c *cursor) u16() uint16 { return le.Uint16(c.take(2)) }
func (c *cursor) u32() uint32 { return le.Uint32(c.take(4)) }
func (c *cursor) u64() uint64 { return le.Uint64(c.take(8)) }

func (c *cursor) skip(n uint64) {
	if n > uint64(c.left()) {
		c.bad = true
		return
	}
	c.off += int(n)
}

// block reads a length and that many bytes.
func (c *cursor) block() []byte {
	n := c.uleb()
	if n > uint64(c.left()) {
		c.bad = true
		return nil
	}
	return c.take(int(n))
}

func (c *cursor) cstring() string {
	n := bytes.IndexByte(c.data[c.off:], 0)
	if c.bad || n < 0 {
		c.bad = true
		return ""
	}
	s := string(c.data[c.off : c.off+n])
	c.off += n + 1
	return s
}

// leb reads a LEB128 number, and returns the bits that it has.
func (c *cursor) leb() (v uint64, bits uint, last byte) {
	for {
		last = c.u8()
		if bits < 64 {
			v |= uint64(last&0x7f) << bits
		}
		bits += 7
		if last&0x80 == 0 || c.bad {
			return v, bits, last
		}
	}
}

func (c *cursor) uleb() uint64 {
	v, _, _ := c.leb()
	return v
}

func (c *cursor) sleb() int64 {
	v, bits, last := c.leb()
	if last&0x40 != 0 && bits < 64 {
		v |= ^uint64(0) << bits
	}
	return int64(v)
}

// encoded reads an address; base is what data-relative ones are relative to.
func (c *cursor) encoded(enc byte, base uint64) uint64 {
	if enc == encOmit {
		return 0
	}
	here := c.addr + uint64(c.off)
	var v uint64
	switch enc & encFormat {
	case 0:
		if c.narrow {
			v = uint64(c.u32())
		} else {
			v = c.u64()
		}
	case encUData8, encSData8:
		v = c.u64()
	case encULEB:
		v = c.uleb()
	case encSLEB:
		v = uint64(c.sleb())
	case encUData2:
		v = uint64(c.u16())
	case encSData2:
		v = uint64(int64(int16(c.u16())))
	case encUData4:
		v = uint64(c.u32())
	case encSData4:
		v = uint64(int64(int32(c.u32())))
	default:
		c.bad = true
	}
	switch enc & encBase {
	case 0:
	case encPCRel:
		v += here
	case encDataRel:
		v += base
	default: // of other sections, or indirect: not used for code
		c.bad = true
	}
	if c.narrow {
		v = uint64(uint32(v))
	}
	return v
}
