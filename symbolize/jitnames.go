package symbolize

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
)

// jitFound is a sampled place in the code of a dump.
type jitFound struct {
	i           int    // of the address asked for
	code, lines uint64 // offsets of records; lines 0 for none
	at          uint64 // run-time address, or
	byOffset    bool   // offset in the file
}

// supplier keeps each text once, as far as a budget goes.
type supplier struct {
	b    *budget
	kept map[string]string
}

func (s *supplier) keep(text []byte) (string, error) {
	if kept, ok := s.kept[string(text)]; ok {
		return kept, nil
	}
	if !s.b.take(len(text)) {
		return "", ErrTooMuch
	}
	kept := string(text)
	s.kept[kept] = kept
	return kept, nil
}

// name reads the names and lines of what was found. What it returns beside an error
// is good.
func (d *jitDump) name(ctx context.Context, addrs []uint64, found []jitFound, b *budget) (*suppliedTable, error) {
	t := &suppliedTable{addrs: addrs, frames: make([]Frame, len(addrs))}
	texts := supplier{b, map[string]string{}}
	w := newWindow(ctx, d.r)
	slices.SortStableFunc(found, func(a, b jitFound) int { return cmp.Compare(a.code, b.code) })
	for len(found) > 0 {
		n := 1
		for n < len(found) && found[n].code == found[0].code {
			n++
		}
		if err := d.nameCode(w, t, found[:n], &texts); err != nil {
			return t, err
		}
		found = found[n:]
	}
	return t, nil
}

// nameCode names places of one function. The process may have written its record over
// meanwhile: then it has any name that the process likes, or none.
func (d *jitDump) nameCode(w *window, t *suppliedTable, found []jitFound, texts *supplier) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	var b [jitPrefixSize + jitLoadFixed]byte
	if _, err := d.r.ReadAt(b[:], int64(found[0].code)); err != nil {
		return err
	}
	payload := uint64(d.order.Uint32(b[4:])) - jitPrefixSize
	c := jitCode{at: found[0].code, addr: d.order.Uint64(b[jitPrefixSize+16:]), size: d.order.Uint64(b[jitPrefixSize+24:])}
	if payload > 1<<32 || payload < jitLoadFixed || c.size > payload-jitLoadFixed {
		return errJITShort
	}
	c.name = payload - jitLoadFixed - c.size
	c.offset = uint64(c.nameAt()) + c.name
	text := make([]byte, min(c.name, maxJITName))
	if _, err := d.r.ReadAt(text, c.nameAt()); err != nil {
		return err
	}
	if i := bytes.IndexByte(text, 0); i >= 0 {
		text = text[:i]
	}
	name, err := texts.keep(text)
	if err != nil {
		return err
	}
	places := make([]uint64, len(found)) // run-time addresses where it was loaded
	for i, f := range found {
		places[i] = f.at
		if f.byOffset {
			places[i] = f.at - c.offset + c.addr
		}
		if places[i]-c.addr < c.size {
			t.frames[f.i] = Frame{Name: name, SystemName: name}
		}
	}
	if found[0].lines == 0 {
		return nil
	}
	lines, err := d.lines(w, found[0].lines, places)
	for i, l := range lines {
		frame := &t.frames[found[i].i]
		if l.fileAt == 0 || frame.Name == "" {
			continue
		}
		file := make([]byte, min(l.fileLen, maxJITName))
		if _, err := d.r.ReadAt(file, int64(l.fileAt)); err != nil {
			return err
		}
		if frame.File, err = texts.keep(file); err != nil {
			return err
		}
		frame.Line = int(l.line)
	}
	return err
}

// jitLine says that code from addr on comes from a line.
type jitLine struct {
	addr            uint64
	line            int32
	fileAt, fileLen uint64 // fileAt 0 for none
}

var errJITLines = errors.New("lines of a jitdump: too short for what it says")

// lines finds, for each of addrs, the line with the largest address up to it, of
// these the last. The record at an offset has: address u64, number u64; for each
// address u64, line u32, discriminator u32, file with a zero, which may be "\xff"
// for that of the one before.
func (d *jitDump) lines(w *window, at uint64, addrs []uint64) ([]jitLine, error) {
	w.seek(at)
	if !w.need(jitPrefixSize + jitDebugFixed) {
		return nil, errJITLines
	}
	end := at + uint64(d.order.Uint32(w.data[4:]))
	n := d.order.Uint64(w.data[jitPrefixSize+8:])
	w.skip(jitPrefixSize + jitDebugFixed)

	order := make([]int, len(addrs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(addrs[a], addrs[b]) })
	best := make([]jitLine, len(addrs)) // of addrs[order[i]], and of all behind it
	var fileAt, fileLen uint64
	var err error
	for ; n > 0; n-- {
		if !w.need(17) || uint64(w.off)+17 > end {
			err = errJITLines
			break
		}
		l := jitLine{addr: d.order.Uint64(w.data) - d.ahead, line: int32(d.order.Uint32(w.data[8:]))}
		w.skip(16)
		length := bytes.IndexByte(w.data, 0)
		for length < 0 && w.fill() {
			length = bytes.IndexByte(w.data, 0)
		}
		if length < 0 || uint64(w.off+int64(length)) >= end {
			err = errJITLines
			break
		}
		if string(w.data[:length]) != "\xff" || fileAt == 0 {
			fileAt, fileLen = uint64(w.off), uint64(length)
		}
		l.fileAt, l.fileLen = fileAt, fileLen
		w.skip(uint64(length) + 1)
		i, _ := slices.BinarySearchFunc(order, l.addr, func(i int, addr uint64) int {
			if addrs[i] < addr {
				return -1
			}
			return 1
		})
		if i < len(best) && (best[i].fileAt == 0 || l.addr >= best[i].addr) {
			best[i] = l
		}
	}
	found := make([]jitLine, len(addrs))
	var last jitLine
	for i, o := range order {
		if best[i].fileAt != 0 {
			last = best[i]
		}
		found[o] = last
	}
	return found, err
}
