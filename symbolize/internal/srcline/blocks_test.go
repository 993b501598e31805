package srcline

import "testing"

// TestBlocksThatOverlap has what GCC writes of functions it has moved apart (g++ -O2 -flto, of
// regex_compiler.tcc): a block that covers an address, and behind it the one with the call that
// was inlined there. addr2line and llvm-symbolizer find that call.
func TestBlocksThatOverlap(t *testing.T) {
	// 1: unit, 2: function, 3: block, 4: inlined call, each with low_pc addr and high_pc udata, the
	// last with a line and an origin ref1 too; 5: what was inlined, with its name.
	abbrev := []byte{
		1, 0x11, 1, 0x11, 1, 0x12, 0x0f, 0, 0,
		2, 0x2e, 1, 0x11, 1, 0x12, 0x0f, 3, 8, 0, 0,
		3, 0x0b, 1, 0x11, 1, 0x12, 0x0f, 0, 0,
		4, 0x1d, 0, 0x11, 1, 0x12, 0x0f, 0x59, 0x0b, 0x31, 0x11, 0, 0,
		5, 0x2e, 0, 3, 8, 0, 0,
		6, 0x0b, 0, 0x11, 1, 0x12, 0x0f, 0, 0,
		0,
	}
	at := func(code, start, size byte, more ...byte) []byte {
		return append([]byte{code, start, 0, 1, 0, 0, 0, 0, 0, size}, more...)
	}
	const header = 11
	callee := append([]byte{5}, "callee\x00"...)
	var dies []byte
	for _, die := range [][]byte{
		at(1, 0, 0x70),
		callee, // the first entry below the unit
		at(2, 0, 0x70, []byte("caller\x00")...),
		at(3, 0x10, 0x40), at(4, 0x40, 1, 7, header+10), {0},
		at(6, 0x10, 0x40),
		at(3, 0x20, 0x10), at(4, 0x28, 4, 9, header+10), {0},
		{0}, {0},
	} {
		dies = append(dies, die...)
	}
	info := append([]byte{byte(len(dies) + header - 4), 0, 0, 0, 4, 0, 0, 0, 0, 0, 8}, dies...)
	d := New(Sections{Info: info, Abbrev: abbrev}, nil, nil)
	for addr, want := range map[uint64][]string{
		0x10005: {"caller"},
		0x10012: {"caller"},
		0x10028: {"callee", "caller"},
		0x1002c: {"caller"},
		0x10040: {"callee", "caller"},
	} {
		var names []string
		for _, f := range d.AppendFrames(nil, addr, true) {
			names = append(names, f.Name)
		}
		if len(names) != len(want) || names[0] != want[0] || names[len(names)-1] != want[len(want)-1] {
			t.Errorf("%#x: %q, want %q", addr, names, want)
		}
	}
	if err := d.Err(); err != nil {
		t.Error(err)
	}
}
