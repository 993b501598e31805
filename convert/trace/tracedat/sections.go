package tracedat

import (
	"fmt"
)

// Version 7 is made of sections, each with a head of 16 bytes:
//
//	u16 number, u16 flags (1: compressed), u32 place of its description, u64 size in the file
//
// What is compressed has the sizes of both forms before it, a u32 each.

const compressedSection = 1

// openSections reads version 7 from behind its head on.
func (f *File) openSections(c *cursor) error {
	f.Compression = c.cstring(64)
	c.cstring(64) // its version
	o := newOptionReader(f)
	o.next = c.u64()
	if c.err != nil {
		return fmt.Errorf("%w: its head: %w", ErrFormat, c.err)
	}
	if o.next == 0 { // it was not ended
		return fmt.Errorf("%w: it has no options, trace-cmd must have been killed", ErrFormat)
	}
	seen := map[uint64]bool{}
	for o.next != 0 && len(seen) < maxSections && !seen[o.next] {
		at := o.next
		seen[at], o.next = true, 0
		if err := f.readOptions(o, at); err != nil {
			f.truncated(err)
			break
		}
	}
	for _, p := range []struct {
		id   uint16
		read func(*cursor)
	}{
		{optionHeaderInfo, f.readHeaderInfo}, {optionFtrace, f.readFtraceFormats}, {optionEvents, f.readEventFormats},
		{optionKallsyms, f.readKallsyms}, {optionPrintk, f.readPrintk}, {optionCmdlines, f.readCmdlines},
		{optionModulesFile, func(c *cursor) { f.Modules = c.text(c.u64()) }},
	} {
		off, ok := o.parts[p.id]
		if !ok {
			continue
		}
		body, _, err := f.section(off, p.id)
		if err == nil {
			p.read(body)
			err = body.err
		}
		if err != nil {
			f.truncated(fmt.Errorf("section %d at offset %d: %w", p.id, off, err))
		}
	}
	for _, b := range o.buffers {
		f.readBuffer(b)
	}
	for _, b := range o.texts {
		head, _, err := f.sectionHead(b.off, optionBufferText)
		if err != nil {
			f.truncated(err)
			continue
		}
		f.Text = append(f.Text, Text{Name: b.name, Off: head.off, Size: head.left})
	}
	return nil
}

// sectionHead reads the head of a section and returns what reads its body.
func (f *File) sectionHead(off uint64, id uint16) (body *cursor, compressed bool, err error) {
	if off > uint64(f.in.size) {
		return nil, false, fmt.Errorf("section %d is missing: it is at offset %d of a file of %d bytes", id, off, f.in.size)
	}
	c := f.in.from(int64(off))
	got, flags := c.u16(), c.u16()
	c.u32()
	size := c.u64()
	if c.err == nil && got != id {
		c.fail("section %d in place of %d", got, id)
	}
	if c.err == nil && size > uint64(c.left) {
		c.fail("a section of %d bytes, %d are left", size, c.left)
	}
	if c.err != nil {
		return nil, false, c.err
	}
	c.left = int64(size)
	return c, flags&compressedSection != 0, nil
}

// section returns what reads a section, decompressed.
func (f *File) section(off uint64, id uint16) (*cursor, bool, error) {
	c, compressed, err := f.sectionHead(off, id)
	if err != nil || !compressed {
		return c, false, err
	}
	packed, whole := c.u32(), c.u32()
	b := c.text(uint64(packed))
	if c.err != nil {
		return nil, true, c.err
	}
	if b, err = f.unzip(nil, b, int(whole), int(min(maxText, f.room))); err != nil {
		return nil, true, err
	}
	f.room -= int64(len(b))
	return section(b, f.Order), true, nil
}

func (f *File) readOptions(o *optionReader, off uint64) error {
	c, _, err := f.section(off, optionDone)
	if err != nil {
		return fmt.Errorf("options at offset %d: %w", off, err)
	}
	for c.err == nil && c.left > 0 {
		id := c.u16()
		o.take(id, c.text(uint64(c.u32())))
		if id == optionDone {
			break
		}
	}
	if c.err != nil {
		return fmt.Errorf("options at offset %d: %w", off, c.err)
	}
	return nil
}

// readBuffer reads where the pages of a buffer are.
func (f *File) readBuffer(o bufferOption) {
	c := o.rest
	b := Buffer{Name: o.name, Clock: c.cstring(256)}
	pageSize, cpus := c.u32(), c.u32()
	if pageSize > 64<<20 {
		pageSize = 0
	}
	b.Layout = f.layout(int(pageSize))
	if b.Layout.Size == 0 {
		b.Layout.Size = f.PageSize
	}
	_, compressed, err := f.sectionHead(o.off, optionBuffer)
	if err != nil {
		f.truncated(fmt.Errorf("buffer %q: %w", o.name, err))
		compressed = f.Compression != "none"
	}
	for ; cpus > 0 && c.err == nil; cpus-- {
		id, off, size := c.u32(), c.u64(), c.u64()
		if c.err == nil && id < 1<<20 && !f.addCPU(&b, int(id), off, size, compressed) {
			break
		}
	}
	if c.err != nil {
		f.truncated(fmt.Errorf("buffer %q: %w", o.name, c.err))
	}
	f.Buffers = append(f.Buffers, b)
}
