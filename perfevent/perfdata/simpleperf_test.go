package perfdata

import (
	"encoding/binary"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/abi"
)

// field appends a field of a message: a number or bytes.
func field(b []byte, num protowire.Number, v any) []byte {
	switch v := v.(type) {
	case int:
		return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), uint64(v))
	case string:
		return protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), v)
	}
	panic("no field")
}

// sized puts the length in front, as simpleperf does.
func sized(b []byte) string {
	return string(binary.LittleEndian.AppendUint32(nil, uint32(len(b)))) + string(b)
}

// simpleperfBodies are sections of simpleperf, laid out by hand.
func simpleperfBodies() map[Feature]string {
	le := binary.LittleEndian
	v1 := append([]byte("/lib/a.so\x00"), 2, 0, 0, 0) // DSO_ELF_FILE
	v1 = le.AppendUint64(v1, 0x1000)
	v1 = le.AppendUint32(v1, 1)
	v1 = append(le.AppendUint32(le.AppendUint64(v1, 0x1100), 16), "_Z1fv\x00"...)
	v1 = le.AppendUint64(v1, 0x800)
	dex := append([]byte("/b.dex\x00"), 3, 0, 0, 0)
	dex = append(dex, make([]byte, 8+4)...)
	dex = le.AppendUint64(le.AppendUint32(dex, 1), 0x28)
	old := append([]byte("/lib/old.so\x00"), 2, 0, 0, 0)
	old = append(old, make([]byte, 8+4)...)

	sym := field(field(field(nil, 1, 0x1100), 2, 16), 3, "_Z1fv")
	v2 := field(field(field(field(nil, 1, "/lib/a.so"), 2, 2), 3, 0x1000), 4, string(sym))
	v2 = field(v2, 6, string(field(nil, 1, 0x800)))
	zero := field(field(field(nil, 1, "/lib/z.so"), 2, 2), 6, "")
	return map[Feature]string{
		FeatureSimpleperfFile:     sized(v1) + sized(dex) + sized(old),
		FeatureSimpleperfFile2:    sized(v2) + sized(zero),
		FeatureSimpleperfMetaInfo: "a\x00b\x00c\x00\x00",
	}
}

// TestSimpleperf decodes both forms of simpleperf's files.
func TestSimpleperf(t *testing.T) {
	a := FileSymbols{Path: "/lib/a.so", Kind: FileELF, VAddr: 0x1000, Offset: 0x800, HasOffset: true,
		Symbols: []FileSymbol{{0x1100, 16, "_Z1fv"}}}
	want := map[Feature]Features{
		FeatureSimpleperfFile: {FileSymbols: []FileSymbols{
			a, {Path: "/b.dex", Kind: FileDex}, {Path: "/lib/old.so", Kind: FileELF}}},
		FeatureSimpleperfFile2: {FileSymbols: []FileSymbols{
			a, {Path: "/lib/z.so", Kind: FileELF, HasOffset: true}}},
		FeatureSimpleperfMetaInfo: {MetaInfo: []KeyValue{{"a", "b"}, {"c", ""}}},
	}
	for id, body := range simpleperfBodies() {
		var f Features
		if err := f.Decode(id, []byte(body), abi.LittleEndian); err != nil {
			t.Errorf("%v: %v", id, err)
			continue
		}
		if string(f.Append(nil, id, abi.LittleEndian)) != body {
			t.Errorf("%v: written otherwise", id)
		}
		f.Unknown = nil
		if d := cmp.Diff(want[id], f); d != "" {
			t.Errorf("%v: -want +got\n%s", id, d)
		}
	}
}

// TestSimpleperfTracepoints reads the names of events.
func TestSimpleperfTracepoints(t *testing.T) {
	n := simpleperfTracepoints("cpu-cycles,0,0\nsched:sched_switch,2,47\nbad,2")
	if len(n) != 1 || n[47] != "sched:sched_switch" {
		t.Errorf("tracepoints %v", n)
	}
}
