package stacktext

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math"
	"strconv"
	"strings"

	"kprof/convert/intern"
	"kprof/convert/stacks"
)

// frameTable gives each different frame a location of a Set. Frames are the same
// that have the same symbol and file: text tells of an address neither the
// mapping nor the build, so that nobody could ask it for more.
type frameTable struct {
	set      *stacks.Set
	entries  []byte       // see entryHead
	index    intern.Index // of entries by their number
	seed     maphash.Seed
	mappings map[string]int32
	lines    map[sourceKey]uint32 // locations with a source line
}

// An entry of a frameTable is the number of its location, its kind, the lengths of
// symbol and file, and these. So a look-up waits for memory twice: for the slot,
// and for the entry.
const (
	entryHead  = 16
	entryAlign = 16 // numbers of entries count in this, to reach further
)

// What tells frames of equal names apart, besides the file.
const (
	kernelCode  = 1 << iota // by its address, of a frame without a file
	named                   // there is a symbol
	bareAddress             // the symbol is an address
)

type sourceKey struct {
	loc    uint32
	source string
}

func newFrameTable(set *stacks.Set) frameTable {
	return frameTable{
		set:      set,
		index:    intern.NewIndex(1 << 10),
		seed:     maphash.MakeSeed(),
		mappings: map[string]int32{},
		lines:    map[sourceKey]uint32{},
	}
}

// of returns the location of a frame.
func (t *frameTable) of(f *frame) uint32 {
	kind := byte(0)
	if f.dso == nil && isKernelAddress(f.ip) {
		kind |= kernelCode
	}
	switch {
	case f.bare:
		return t.lookup(f.ip, nil, kind|named|bareAddress)
	case f.symbol != nil:
		kind |= named
	}
	return t.lookup(f.symbol, f.dso, kind)
}

func (t *frameTable) lookup(symbol, dso []byte, kind byte) uint32 {
	h := t.hash(symbol, dso, kind)
	p := t.index.Probe(h)
	for at, ok := p.Next(); ok; at, ok = p.Next() {
		id, k, sym, file := t.entry(at)
		if k == kind && bytes.Equal(sym, symbol) && bytes.Equal(file, dso) {
			return id
		}
	}
	id := t.locate(string(symbol), string(dso), kind)
	t.index.Put(p, t.store(id, symbol, dso, kind))
	return id
}

func (t *frameTable) hash(symbol, dso []byte, kind byte) uint64 {
	return maphash.Bytes(t.seed, symbol) ^ (maphash.Bytes(t.seed, dso)*0x9e3779b97f4a7c15 + uint64(kind))
}

// entry takes an entry apart.
func (t *frameTable) entry(at uint32) (id uint32, kind byte, symbol, dso []byte) {
	e := t.entries[int(at)*entryAlign:]
	n, m := int(binary.LittleEndian.Uint32(e[4:])), int(binary.LittleEndian.Uint32(e[8:]))
	return binary.LittleEndian.Uint32(e), e[12], e[entryHead : entryHead+n], e[entryHead+n : entryHead+n+m]
}

// store appends an entry and returns where it is.
func (t *frameTable) store(id uint32, symbol, dso []byte, kind byte) uint32 {
	at := len(t.entries) / entryAlign
	if uint64(at) >= math.MaxUint32 {
		panic("stacktext: 64 GiB of names, no more can be numbered")
	}
	var head [entryHead]byte
	binary.LittleEndian.PutUint32(head[:], id)
	binary.LittleEndian.PutUint32(head[4:], uint32(len(symbol)))
	binary.LittleEndian.PutUint32(head[8:], uint32(len(dso)))
	head[12] = kind
	e := append(t.entries, head[:]...)
	e = append(append(e, symbol...), dso...)
	t.entries = append(e, make([]byte, -len(e)&(entryAlign-1))...)
	return uint32(at)
}

// locate makes the location of a new frame.
func (t *frameTable) locate(symbol, dso string, k byte) uint32 {
	mapping, kind := int32(stacks.NoMapping), stacks.KindUser
	if dso != "" {
		mapping = t.mapping(dso)
		kind = t.set.Mappings[mapping].Kind
	} else if k&kernelCode != 0 {
		kind = stacks.KindKernel
	}
	id := t.set.AddLocation(mapping, 0, kind)
	if k&bareAddress != 0 {
		symbol = "0x" + symbol
	}
	if k&named != 0 {
		t.set.SetLines(id, stacks.Line{Function: t.set.AddFunction(stacks.Function{Name: symbol, SystemName: symbol})})
	}
	return id
}

func (t *frameTable) mapping(dso string) int32 {
	m, ok := t.mappings[dso]
	if !ok {
		m = t.set.AddMapping(stacks.Mapping{File: dso, Kind: kindOf(dso), HasFunctions: true})
		t.mappings[dso] = m
	}
	return m
}

// sourceLine takes "file.c:123" apart, with what may follow: "(discriminator 4)".
// It fails on perf's stand-in for what it does not know, "libc.so.6[27b25]".
func sourceLine(s string) (file string, line int64, ok bool) {
	s, _, _ = strings.Cut(s, " (discriminator")
	i := strings.LastIndexByte(s, ':')
	if i <= 0 || s[:i] == "??" {
		return "", 0, false
	}
	line, err := strconv.ParseInt(s[i+1:], 10, 32)
	return s[:i], line, err == nil && line >= 0
}

// withSource returns the location loc at a source line, "file.c:123".
func (t *frameTable) withSource(loc uint32, source []byte) uint32 {
	if id, ok := t.lines[sourceKey{loc, string(source)}]; ok {
		return id
	}
	text := string(source)
	id := loc
	if file, line, ok := sourceLine(text); ok && len(t.set.Lines(loc)) == 1 {
		l := t.set.Locations[loc]
		fn := t.set.Functions[t.set.Lines(loc)[0].Function]
		fn.File = file
		id = t.set.AddLocation(l.Mapping, 0, l.Kind)
		t.set.SetLines(id, stacks.Line{Function: t.set.AddFunction(fn), Line: line})
		if l.Mapping >= 0 {
			m := &t.set.Mappings[l.Mapping]
			m.HasFilenames, m.HasLineNumbers = true, true
		}
	}
	t.lines[sourceKey{loc, text}] = id
	return id
}
