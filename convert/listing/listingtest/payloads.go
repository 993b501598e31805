package listingtest

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/format"
	"kprof/perfevent/perfdata"
)

// headerPage is events/header_page of tracefs, without which perf reads nothing.
const headerPage = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n" +
	"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n" +
	"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n" +
	"\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n"

// Patterns is how many payloads WriteFormats makes of each event.
const Patterns = 24

// WriteFormats writes a recording that has Patterns samples of each event of a kernel,
// whose format texts are given by SYSTEM:NAME. Their payloads are made up: numbers small,
// large, negative and of single bits, text, arrays of different lengths. So it has every
// event, whether this machine can make it happen or not.
func WriteFormats(t testing.TB, name string, texts map[string]string) {
	t.Helper()
	td := perfdata.TracingData{Version: "0.6", LongSize: 8, PageSize: 4096, HeaderPage: headerPage, HeaderEvent: "# compressed entry header\n"}
	var events []abi.Event
	var formats []*format.Format
	for i, event := range slices.Sorted(maps.Keys(texts)) {
		f, err := format.Parse(texts[event], format.Machine{})
		if err != nil {
			t.Fatal(err)
		}
		system, _, _ := strings.Cut(event, ":")
		td.Tracepoints = append(td.Tracepoints, perfdata.Tracepoint{System: system, Format: texts[event]})
		events = append(events, abi.Event{Name: event, IDs: []uint64{uint64(i + 1)}, Attr: abi.Attr{
			Type: abi.TypeTracepoint, Size: 128, Config: uint64(f.ID), SamplePeriod: 1,
			SampleType: abi.SampleIdentifier | abi.SampleTID | abi.SampleTime | abi.SampleCPU | abi.SampleRaw,
			Flags:      abi.FlagSampleIDAll,
		}})
		formats = append(formats, f)
	}
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := perfdata.NewWriter(f, events, perfdata.Features{TracingData: td.AppendTo(nil)}, perfdata.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o := abi.LittleEndian
	at := uint64(1e9)
	for i, f := range formats {
		for pattern := range Patterns {
			raw := payload(f, pattern)
			for (len(raw)+4)%8 != 0 {
				raw = append(raw, 0)
			}
			at += 1000
			b := abi.Header{Type: abi.RecordSample, Misc: abi.MiscKernel, Size: uint16(8 + 8 + 8 + 8 + 8 + 4 + len(raw))}.AppendTo(nil, o)
			b = o.AppendUint64(b, uint64(i+1))
			b = o.AppendUint32(o.AppendUint32(b, 4000), 4001)
			b = o.AppendUint64(b, at)
			b = o.AppendUint32(o.AppendUint32(b, 3), 0)
			b = append(o.AppendUint32(b, uint32(len(raw))), raw...)
			if err := w.Write(b, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmp.Or(w.FinishRound(), w.Close(perfdata.Features{})); err != nil {
		t.Fatal(err)
	}
}

// payload makes up a payload.
func payload(f *format.Format, pattern int) []byte {
	r := rand.New(rand.NewPCG(uint64(pattern), uint64(f.ID)))
	number := numbers(r, pattern)
	size := 0
	for i := range f.Fields {
		size = max(size, f.Fields[i].Offset+f.Fields[i].Size)
	}
	raw := make([]byte, (size+7)&^7)
	put := func(b []byte, v uint64) {
		for i := range b {
			b[i] = byte(v >> (8 * (i & 7)))
		}
	}
	for i := range f.Fields {
		x := &f.Fields[i]
		b := raw[x.Offset : x.Offset+x.Size]
		switch {
		case x.Name == "common_type":
			put(b, uint64(f.ID))
		case x.Name == "common_pid":
			put(b, 4001)
		case strings.HasPrefix(x.Name, "common_"):
		case x.Place == format.DataLoc || x.Place == format.RelLoc:
			data := dynamic(x, r, pattern, number)
			from := len(raw)
			if x.Place == format.RelLoc {
				from -= x.Offset + x.Size
			}
			put(b, uint64(len(data)<<16|from))
			raw = append(raw, data...)
			for len(raw)%8 != 0 {
				raw = append(raw, 0)
			}
		case x.Place == format.Trailing:
			raw = append(raw, text(r, pattern)...)
		case x.Array && x.Kind == format.Char:
			s := text(r, pattern)
			copy(b[:len(b)-1], s)
		default:
			for len(b) >= x.Elem {
				put(b[:x.Elem], number(x.Elem))
				b = b[x.Elem:]
			}
		}
	}
	// perf believes how long what it prints is said to be, and crashes.
	for _, m := range counts.FindAllStringSubmatch(f.PrintFmt, -1) {
		data, count := f.Field(m[1]), f.Field(m[2])
		if data == nil || count == nil || !count.Scalar() {
			continue
		}
		n, _ := data.Len(raw)
		v, _ := count.Uint(raw)
		put(raw[count.Offset:count.Offset+count.Size], min(v, uint64(n)))
	}
	return raw
}

// counts are the arguments that say how many elements of an array are printed.
var counts = regexp.MustCompile(`__print_(?:hex|hex_str|array)\((?:REC->|__get_dynamic_array\()(\w+)\)?, *REC->(\w+)`)

// dynamic is what a field refers to whose length is the record's to say.
func dynamic(x *format.Field, r *rand.Rand, pattern int, number func(int) uint64) []byte {
	if x.Kind == format.Char {
		return append(text(r, pattern), 0)
	}
	if x.Kind == format.Mask {
		b := make([]byte, 8*(1+pattern%3))
		for i := range b {
			b[i] = byte(number(1))
		}
		return b
	}
	var b []byte
	for range pattern % 4 {
		v := number(x.Elem)
		for i := range x.Elem {
			b = append(b, byte(v>>(8*(i&7))))
		}
	}
	return b
}

// numbers are those of a pattern, by their size in bytes.
func numbers(r *rand.Rand, pattern int) func(size int) uint64 {
	next := uint64(0)
	return func(size int) uint64 {
		next++
		switch pattern {
		case 0:
			return 0
		case 1:
			return ^uint64(0)
		case 2:
			return next
		case 3:
			return -next
		case 4:
			return uint64(1) << (8*size - 1) // the smallest
		case 5:
			return uint64(1)<<(8*size-1) - 1 // the largest
		}
		switch pattern % 4 {
		case 0:
			return uint64(1) << r.IntN(8*size)
		case 1:
			return r.Uint64N(16)
		case 2:
			return r.Uint64N(4096)
		}
		return r.Uint64()
	}
}

// text is of letters, and none at first.
func text(r *rand.Rand, pattern int) []byte {
	if pattern == 0 {
		return nil
	}
	b := []byte("text" + strconv.Itoa(pattern) + "~")
	for range r.IntN(12) {
		b = append(b, byte('a'+r.IntN(26)))
	}
	return b
}
