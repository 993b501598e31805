package symbolize

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"kprof/symbolize/unwind"
)

// The form of Names: numbers are varints; what is told apart by number has it from its
// first mention on, which is where it stands.
//
//	version   1
//	files     number; of each
//	            kind, what is missing, text file, text build id, process, device (2), inode, generation
//	            places  number; of each: difference to the address before, frames: number, at most maxFrames, each
//	            unwind  as unwind.Table.AppendTo has it, or 0
//	dumps     number; of each
//	            process, text path
//	            code    number; of each: time, start, size, offset
//	text      0 and length and bytes, or the number of an earlier one
//	frame     0 and text system name, demangled, text file, line, first line, or the number
//	          of an earlier one

const namesVersion = 1

var errNames = errors.New("names of sampled functions: damaged")

// namesDecoder reads what a namesEncoder wrote. What is read behind the end is 0, and bad is
// then true.
type namesDecoder struct {
	b      []byte
	bad    bool
	texts  []string
	frames []Frame
}

// DecodeNames reads names for Options.Recorded.
func DecodeNames(b []byte) (*Names, error) {
	d := namesDecoder{b: b}
	if d.uint() != namesVersion {
		return nil, errors.New("names of sampled functions: of a later version")
	}
	n := &Names{files: map[nameKey]*fileNames{}, dumps: map[dumpKey][]JITCode{}}
	for range d.count(1) {
		var k nameKey
		k.kind = Kind(min(d.uint(), math.MaxUint8))
		d.bad = d.bad || !portable(k.kind)
		f := &fileNames{missing: missing(min(d.uint(), uint64(missesSome)))}
		k.file, k.buildID, k.pid = d.text(), d.text(), int(int32(d.uint()))
		k.id.Major, k.id.Minor = uint32(d.uint()), uint32(d.uint())
		k.id.Inode, k.id.Generation = d.uint(), d.uint()
		places := d.count(2)
		f.addrs, f.ends = make([]uint64, places), make([]uint32, places)
		addr := uint64(0)
		for i := range places {
			next := addr + d.uint()
			d.bad = d.bad || next < addr
			addr = next
			frames := d.count(1)
			d.bad = d.bad || frames > maxFrames
			for range min(frames, maxFrames) {
				f.frames = append(f.frames, d.frame())
			}
			f.addrs[i], f.ends[i] = addr, uint32(len(f.frames))
		}
		var err error
		if f.unwind, d.b, err = unwind.Decode(d.b); err != nil {
			return nil, errNames
		}
		if d.bad {
			return nil, errNames
		}
		n.files[k] = f
	}
	for range d.count(1) {
		k := dumpKey{int(int32(d.uint())), d.text()}
		code := make([]JITCode, d.count(4))
		for i := range code {
			c := &code[i]
			c.Time, c.Start = d.uint(), d.uint()
			c.Limit = c.Start + d.uint()
			c.Limit = max(c.Limit, c.Start)
			c.Offset = d.uint()
		}
		n.dumps[k] = code
	}
	if d.bad {
		return nil, errNames
	}
	n.frames = d.frames
	return n, nil
}

func (d *namesDecoder) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

// count reads how many there are of something that takes so many bytes at least.
func (d *namesDecoder) count(size int) int {
	n := d.uint()
	if n > uint64(len(d.b)/size) {
		d.bad, d.b = true, nil
		return 0
	}
	return int(n)
}

func (d *namesDecoder) text() string {
	if id := d.uint(); id > uint64(len(d.texts)) {
		d.bad = true
		return ""
	} else if id > 0 {
		return d.texts[id-1]
	}
	n := d.count(1)
	s := string(d.b[:n])
	d.b = d.b[n:]
	d.texts = append(d.texts, s)
	return s
}

// frame reads the number of a frame, which it may be the first to mention.
func (d *namesDecoder) frame() uint32 {
	if id := d.uint(); id > uint64(len(d.frames)) {
		d.bad = true
	} else if id > 0 {
		return uint32(id - 1)
	}
	f := Frame{SystemName: d.text()}
	if d.uint() == 0 {
		f.Name = f.SystemName
	}
	f.File = d.text()
	f.Line, f.StartLine = int(int32(d.uint())), int(int32(d.uint()))
	if len(d.frames) == cap(d.frames) { // twice, where append would copy at every 1.25
		d.frames = slices.Grow(d.frames, len(d.frames)+1)
	}
	d.frames = append(d.frames, f)
	return uint32(len(d.frames) - 1)
}
