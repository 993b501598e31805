package perfdata_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
)

// tracingData name tracepoint 17.
func tracingData() []byte {
	td := perfdata.TracingData{
		Version: "0.6", LongSize: 8, PageSize: 4096,
		HeaderPage: "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n", HeaderEvent: "# compressed entry header\n",
		Tracepoints: []perfdata.Tracepoint{{System: "irq", Format: "name: irq_entry\nID: 17\nformat:\n" +
			"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\nprint fmt: \"\"\n"}},
	}
	return td.AppendTo(nil)
}

// simpleperfTracing are tracing data as simpleperf has them in a record: their size,
// then they themselves up to a multiple of 64 bytes.
func simpleperfTracing(td []byte) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(td)))
	b = append(b, td...)
	return append(b, make([]byte, -len(td)&63)...)
}

// TestTracingDataInside reads the tracing data in records of simpleperf: in those of
// perf's type, whose data perf has behind the record, in those of its own, and in
// those that are larger than perf's can be. What follows is still read.
func TestTracingDataInside(t *testing.T) {
	td := simpleperfTracing(tracingData())
	large := simpleperfTracing(append(tracingData(), make([]byte, 1<<17)...))
	size := len(large) + abi.HeaderSize
	head := binary.LittleEndian.AppendUint32(nil, 32777)
	head = binary.LittleEndian.AppendUint16(head, uint16(size>>16))
	head = binary.LittleEndian.AppendUint16(head, uint16(size))
	for what, line := range map[string]string{
		"perf's type":      fmt.Sprintf("record type=66 data=%x", td),
		"own type":         fmt.Sprintf("record type=32777 data=%x", td),
		"larger":           fmt.Sprintf("raw %x%x", head, large),
		"an unknown type":  fmt.Sprintf("record type=32777 data=%x\nrecord type=32769 data=0011", td),
		"more than it has": fmt.Sprintf("record type=32777 data=%x\nrecord type=32777 data=ffffffff00", td),
	} {
		r := nameless(t, "event e type=tracepoint config=17\n"+line+"\nsample t=1 pid=7 user 0x1000\n")
		for range 2 { // walks
			samples := 0
			for rec, err := range r.Records() {
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				if rec.Type == abi.RecordSample {
					samples++
				}
			}
			if name := r.Events.Events[0].Name; samples != 1 || name != "irq:irq_entry" {
				t.Errorf("%s: %d samples of %q", what, samples, name)
			}
		}
	}
}

// TestSplitRecord: simpleperf writes a record larger than perf's can be in parts.
func TestSplitRecord(t *testing.T) {
	td := simpleperfTracing(append(tracingData(), make([]byte, 1<<17)...))
	record := func(typ uint32, p []byte) []byte {
		b := binary.LittleEndian.AppendUint32(nil, typ)
		size := len(p) + abi.HeaderSize
		b = binary.LittleEndian.AppendUint16(b, uint16(size>>16))
		return append(binary.LittleEndian.AppendUint16(b, uint16(size)), p...)
	}
	parts := func(b []byte) (text string) {
		const most = 65535 - abi.HeaderSize
		for p := range slices.Chunk(b, most) {
			text += fmt.Sprintf("raw %x\n", record(32772, p))
		}
		return text + "record type=32773\n"
	}
	whole := record(32777, td)
	ids := binary.LittleEndian.AppendUint64(nil, 5000)
	for i := range uint64(5000) { // of its only event
		ids = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(ids, 0), 100+i)
	}
	for _, c := range []struct {
		what, lines, name string
		bad               int
	}{
		{"tracing data", parts(whole), "irq:irq_entry", 0},
		{"after the symbols of the kernel", parts(record(32769, make([]byte, 1<<17))) + parts(whole), "irq:irq_entry", 0},
		{"ids", parts(record(32774, ids)) + parts(whole), "irq:irq_entry", 0},
		{"a part is missing", parts(whole[:len(whole)-8]), "unknown tracepoint id=0x11", 1},
		{"no parts", "record type=32773\n", "unknown tracepoint id=0x11", 1},
	} {
		r := nameless(t, "event e type=tracepoint config=17 ids=9\n"+c.lines+"sample t=1 pid=7 user 0x1000\n")
		samples := 0
		for range 2 { // walks
			for rec, err := range r.Records() {
				if err != nil {
					t.Fatalf("%s: %v", c.what, err)
				}
				if rec.Type == abi.RecordSample {
					samples++
				}
			}
		}
		if e := r.Events.Events[0]; samples != 2 || e.Name != c.name || len(r.BadFeatures) != c.bad || (c.what == "ids") != (r.Events.OfID(5099) == e) {
			t.Errorf("%s: %d samples of %q, bad %v", c.what, samples, e.Name, r.BadFeatures)
		}
	}
}

// TestEventIDs: records bring ids of events that the header does not have.
func TestEventIDs(t *testing.T) {
	le := binary.LittleEndian
	var p []byte
	for _, v := range []uint64{3, 1, 77, 9, 78, 0, 79} { // there is no event 9
		p = le.AppendUint64(p, v)
	}
	rec := perftext.MustParse("event a ids=1\nevent b ids=2\nrecord type=32774 data=" + hex.EncodeToString(p) + "\nrecord type=32774 data=00\n")
	r := rec.Reader(t, perftext.Form{})
	for _, err := range r.Records() {
		if err != nil {
			t.Fatal(err)
		}
	}
	events := r.Events.Events
	if r.Events.OfID(77) != events[1] || r.Events.OfID(78) != nil || r.Events.OfID(79) != events[0] {
		t.Error("ids of records are not those of events")
	}
}

// TestLargeRecordCut: a large record that the file does not hold ends the recording.
func TestLargeRecordCut(t *testing.T) {
	rec := perftext.MustParse("event e\nsample t=1 pid=7 user 0x1000\nrecord type=32777 misc=0x7fff data=0000000000\n")
	r := rec.Reader(t, perftext.Form{})
	var last error
	for _, err := range r.Records() {
		last = err
	}
	if _, ok := last.(*perfdata.TruncatedError); !ok {
		t.Errorf("it ends with %v", last)
	}
}

// nameless reads a recording whose events have no names, as simpleperf's have none.
func nameless(t *testing.T, text string) *perfdata.Reader {
	t.Helper()
	b, err := perftext.MustParse(text).Assemble(perftext.Form{Nameless: true})
	if err != nil {
		t.Fatal(err)
	}
	r, err := perfdata.NewReaderAt(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}
