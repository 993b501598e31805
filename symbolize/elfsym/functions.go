package elfsym

import (
	"bytes"
	"iter"
)

// Functions yields the symbols of the file's code, by address, aliases settled.
// It needs Load to have returned without an error.
func (f *File) Functions() iter.Seq[Symbol] {
	f.Load() // its error is the caller's to ask for
	return func(yield func(Symbol) bool) {
		for i := range f.table.symbols {
			s := &f.table.symbols[i]
			if !yield(Symbol{f.table.name(s), s.start, s.end, s.stub()}) {
				return
			}
		}
	}
}

// Mentions tells which of some names debug information has, of the file or of its
// separate debug file: functions among them that have no symbol were inlined
// wherever they are called. ok is false if there is none to look into; with
// Options.DWARF unset a separate one may not be.
func (f *File) Mentions(names []string) (mentioned map[string]bool, ok bool) {
	f.Load() // its error is the caller's to ask for
	e := f.elf
	if f.separate != nil {
		e = f.separate.elf
	}
	data, _, err := newImage(e, nil, f.path).debugSection("str")
	if err != nil || data == nil {
		return nil, false
	}
	mentioned = make(map[string]bool)
	want := make(map[string]bool, len(names))
	for _, n := range names {
		want[n] = true
	}
	for len(data) > 0 {
		s, rest, _ := bytes.Cut(data, []byte{0})
		if want[string(s)] {
			mentioned[string(s)] = true
		}
		data = rest
	}
	return mentioned, true
}
