package perfdata

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"kprof/perfevent/abi"
)

// Sections of simpleperf, Android's recorder, which has them from 128 on
// (system/extras, simpleperf/record_file_format.h).
const (
	FeatureSimpleperfFile            Feature = iota + 128 // symbols of files
	FeatureSimpleperfMetaInfo                             // what it says of itself
	FeatureSimpleperfDebugUnwind                          // of recordings that could not be unwound
	FeatureSimpleperfDebugUnwindFile                      // files for that
	FeatureSimpleperfFile2                                // symbols of files, instead of the first
)

var simpleperfNames = map[Feature]string{
	FeatureSimpleperfFile: "FILE", FeatureSimpleperfMetaInfo: "META_INFO",
	FeatureSimpleperfDebugUnwind: "DEBUG_UNWIND", FeatureSimpleperfDebugUnwindFile: "DEBUG_UNWIND_FILE",
	FeatureSimpleperfFile2: "FILE2",
}

// FileSymbols are the symbols of a file, as far as samples have hit them, that
// simpleperf read where it recorded.
type FileSymbols struct {
	Path string // as in the records of its maps
	Kind FileKind
	// VAddr is the lowest address of executable code in the file as it was
	// linked, and Offset where in the file that is; in a module, where in its
	// memory. Without HasOffset it is at the beginning of the map.
	VAddr, Offset uint64
	HasOffset     bool
	Symbols       []FileSymbol // in no order
}

// FileSymbol is a function; VAddr is its address as linked, in the kernel the one
// at run time, and in a dex file the offset.
type FileSymbol struct {
	VAddr uint64
	Len   uint32
	Name  string // as the linker knows it
}

// FileKind is what a file of symbols is, DsoType of simpleperf/dso.h.
type FileKind uint32

const (
	FileKernel FileKind = iota
	FileModule
	FileELF
	FileDex
	FileSymbolMap
)

// KeyValue is an entry of simpleperf's own description.
type KeyValue struct{ Key, Value string }

// decodeSimpleperf takes up what this package knows of simpleperf's sections.
func (f *Features) decodeSimpleperf(id Feature, body []byte) error {
	c := cursor{b: body, o: abi.LittleEndian}
	var files []FileSymbols
	var info []KeyValue
	for c.err == nil && c.left() > 0 {
		switch id {
		case FeatureSimpleperfFile:
			files = append(files, c.fileSymbols())
		case FeatureSimpleperfFile2:
			s, err := fileSymbols2(c.take(int(c.u32())))
			if err != nil {
				c.fail("%w", err)
			}
			files = append(files, s)
		case FeatureSimpleperfMetaInfo:
			info = append(info, KeyValue{c.terminated(), c.terminated()})
		default:
			return nil
		}
	}
	if c.err != nil {
		return c.err
	}
	f.FileSymbols = append(f.FileSymbols, files...)
	f.MetaInfo = append(f.MetaInfo, info...)
	return nil
}

// terminated reads a string up to its NUL.
func (c *cursor) terminated() string {
	t := tracingCursor{*c}
	s := t.cstring()
	*c = t.cursor
	return s
}

// fileSymbols reads one file of the first form.
func (c *cursor) fileSymbols() (s FileSymbols) {
	in := cursor{b: c.take(int(c.u32())), o: c.o}
	s.Path, s.Kind, s.VAddr = in.terminated(), FileKind(in.u32()), in.u64()
	s.Symbols = list(&in, uint64(in.u32()), 13, func() FileSymbol {
		return FileSymbol{VAddr: in.u64(), Len: in.u32(), Name: in.terminated()}
	})
	if s.Kind == FileDex {
		list(&in, uint64(in.u32()), 8, in.u64)
	}
	if (s.Kind == FileELF || s.Kind == FileModule) && in.err == nil && in.left() > 0 {
		s.setOffset(in.u64())
	}
	if c.err == nil && in.err != nil {
		c.fail("symbols of %q: %w", s.Path, in.err)
	}
	return s
}

// setOffset sets where the lowest code is, which may be unknown.
func (s *FileSymbols) setOffset(off uint64) {
	if off != math.MaxUint64 {
		s.Offset, s.HasOffset = off, true
	}
}

// fileSymbols2 reads one file of the second form, message FileFeature of
// simpleperf/record_file.proto.
func fileSymbols2(b []byte) (s FileSymbols, err error) {
	err = eachField(b, func(num protowire.Number, v uint64, sub []byte) error {
		switch num {
		case 1:
			s.Path = string(sub)
		case 2:
			s.Kind = FileKind(v)
		case 3:
			s.VAddr = v
		case 4:
			var sym FileSymbol
			err := eachField(sub, func(num protowire.Number, v uint64, sub []byte) error {
				switch num {
				case 1:
					sym.VAddr = v
				case 2:
					sym.Len = uint32(v)
				case 3:
					sym.Name = string(sub)
				}
				return nil
			})
			s.Symbols = append(s.Symbols, sym)
			return err
		case 6, 7:
			s.setOffset(0) // proto3 leaves a zero out
			return eachField(sub, func(num protowire.Number, v uint64, _ []byte) error {
				if num == 1 {
					s.setOffset(v)
				}
				return nil
			})
		}
		return nil
	})
	return s, err
}

// eachField calls f for the fields of a message, with the value of those that are
// numbers and the bytes of those that have a length.
func eachField(b []byte, f func(num protowire.Number, v uint64, sub []byte) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		var v uint64
		var sub []byte
		switch typ {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			sub, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if err := f(num, v, sub); err != nil {
			return err
		}
	}
	return nil
}
