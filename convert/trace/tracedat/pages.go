package tracedat

import (
	"bytes"
	"fmt"
	"io"
)

// Pages reads the pages of one CPU, in their order.
type Pages struct {
	f      *File
	cpu    CPU
	page   int   // bytes of a page
	at     int64 // in the file
	end    int64
	chunks uint32 // that are left, of what is compressed
	begun  bool
	buf    []byte
	rest   []byte // of buf, not yet returned
	joined bool   // rest is of several chunks, and not of buf
	packed []byte
	size   int // bytes to read at once
	most   int // that a chunk may have
}

// Bounds of what a chunk decompresses to: trace-cmd has ten pages in each, and pages that
// are nearly empty compress well. As one chunk of each CPU is in memory at a time, all CPUs share
// what there is room for, which each byte of the file makes more.
const (
	maxChunk    = 16 << 20
	maxRatio    = 1 << 14
	minChunk    = 64 << 10
	chunkRoom   = 128 << 20
	chunksRatio = 256
)

// Pages returns what reads the pages of a CPU of a buffer, readahead bytes at once, a page
// at least.
func (f *File) Pages(b *Buffer, c CPU, readahead int) *Pages {
	page := max(b.Layout.Size, 1)
	room := (chunkRoom + chunksRatio*min(f.in.size, 1<<40)) / int64(max(f.zips, 1))
	return &Pages{
		f: f, cpu: c, page: page, at: c.off, end: c.end, size: max(readahead/page, 1) * page,
		most: int(min(max(room, minChunk), maxChunk)),
	}
}

// Next returns the next page, which is valid until the next call; the last one of a file
// that was cut may be shorter. It is io.EOF after the last page.
func (p *Pages) Next() ([]byte, error) {
	for len(p.rest) == 0 || p.cpu.compressed && len(p.rest) < p.page && p.chunks > 0 {
		var err error
		switch {
		case !p.cpu.compressed:
			err = p.fill()
		case len(p.rest) == 0:
			err, p.joined = p.chunk(), false
		default: // a chunk ends within a sub-buffer, see growPages
			before := p.rest
			if !p.joined {
				before, p.joined = bytes.Clone(before), true
			}
			if err = p.chunk(); err == nil {
				p.rest = append(before, p.rest...)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	n := min(p.page, len(p.rest))
	page := p.rest[:n:n]
	p.rest = p.rest[n:]
	return page, nil
}

// fill reads some pages.
func (p *Pages) fill() error {
	n := int(min(int64(p.size), p.end-p.at))
	if n == 0 {
		return io.EOF
	}
	if cap(p.buf) < n {
		p.buf = make([]byte, n)
	}
	p.buf = p.buf[:n]
	if err := p.readAt(p.buf); err != nil {
		return err
	}
	p.rest = p.buf
	return nil
}

// readAt fills b from where the Pages are.
func (p *Pages) readAt(b []byte) error {
	n, err := p.f.in.at.ReadAt(b, p.at)
	if n < len(b) {
		return fmt.Errorf("read %d bytes of CPU %d at offset %d: %w", len(b), p.cpu.ID, p.at, err)
	}
	p.at += int64(n)
	return nil
}

// chunk reads and decompresses the next chunk.
func (p *Pages) chunk() error {
	var head [8]byte
	o := p.f.Order
	if !p.begun {
		p.begun = true
		if p.end-p.at < 4 {
			return io.EOF
		}
		if err := p.readAt(head[:4]); err != nil {
			return err
		}
		p.chunks = o.Uint32(head[:])
	}
	if p.chunks == 0 {
		return io.EOF
	}
	at := p.at
	if p.end-p.at < 8 {
		return fmt.Errorf("%d chunks of CPU %d are missing at offset %d: %w", p.chunks, p.cpu.ID, at, io.ErrUnexpectedEOF)
	}
	if err := p.readAt(head[:]); err != nil {
		return err
	}
	packed, whole := int64(o.Uint32(head[:])), int64(o.Uint32(head[4:]))
	if packed > p.end-p.at {
		return fmt.Errorf("chunk of CPU %d at offset %d: %d bytes, %d are left: %w", p.cpu.ID, at, packed, p.end-p.at, io.ErrUnexpectedEOF)
	}
	if int64(cap(p.packed)) < packed {
		p.packed = make([]byte, packed)
	}
	p.packed = p.packed[:packed]
	if err := p.readAt(p.packed); err != nil {
		return err
	}
	p.chunks--
	var err error
	if p.buf, err = p.f.unzip(p.buf, p.packed, int(whole), p.most); err != nil {
		return fmt.Errorf("chunk of CPU %d at offset %d: %w", p.cpu.ID, at, err)
	}
	p.rest = p.buf
	return nil
}
