package perfdata

import (
	"errors"
	"io/fs"
	"os"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/abi"
	"kprof/perfevent/fuzztest"
	"kprof/perfevent/memtest"
)

func fakeTracefs() fstest.MapFS {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	return fstest.MapFS{
		"events/header_page":               file("\tfield: u64 timestamp;\n"),
		"events/header_event":              file("# compressed entry header\n"),
		"events/sched/sched_switch/id":     file("315\n"),
		"events/sched/sched_switch/format": file("name: sched_switch\nID: 315\nformat:\n\tfield:int x;\tname: not\n"),
		"events/sched/sched_wakeup/id":     file("316\n"),
		"events/sched/sched_wakeup/format": file("name: sched_wakeup\nID: 316\nformat:\n"),
		"events/irq/irq_entry/id":          file("17\n"),
		"events/irq/irq_entry/format":      file("name: irq_entry\nID: 17\nformat:\n"),
		"saved_cmdlines":                   file("1 init\n"),
	}
}

func tracepoint(name string, id uint64) abi.Event {
	return abi.Event{Name: name, Attr: abi.Attr{Type: abi.TypeTracepoint, Config: id}}
}

func TestReadTracingData(t *testing.T) {
	events := []abi.Event{
		tracepoint("sched:sched_wakeup", 316), tracepoint("sched:sched_switch:k", 315),
		tracepoint("sched:sched_switch", 315), tracepoint("mine", 17),
		{Name: "cpu-clock", Attr: abi.Attr{Type: abi.TypeSoftware}},
	}
	td, err := ReadTracingData(fakeTracefs(), events, abi.BigEndian, 8, 4096)
	if err != nil {
		t.Fatal(err)
	}
	want := []Tracepoint{
		{"irq", "irq_entry", 17, "name: irq_entry\nID: 17\nformat:\n"},
		{"sched", "sched_switch", 315, "name: sched_switch\nID: 315\nformat:\n\tfield:int x;\tname: not\n"},
		{"sched", "sched_wakeup", 316, "name: sched_wakeup\nID: 316\nformat:\n"},
	}
	if d := cmp.Diff(want, td.Tracepoints); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
	b := td.AppendTo(nil)
	got, err := DecodeTracingData(append(b, 0, 0, 0))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(td, got); d != "" {
		t.Errorf("-written +read\n%s", d)
	}
	for n := range b {
		if _, err := DecodeTracingData(b[:n]); err == nil {
			t.Errorf("no error for %d of %d bytes", n, len(b))
		}
	}

	if td, err := ReadTracingData(fakeTracefs(), events[4:], abi.LittleEndian, 8, 4096); td != nil || err != nil {
		t.Errorf("without tracepoints: %v, %v", td, err)
	}
	_, err = ReadTracingData(fakeTracefs(), []abi.Event{tracepoint("a:b", 99)}, abi.LittleEndian, 8, 4096)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("unknown tracepoint: %v", err)
	}
}

func FuzzTracingData(f *testing.F) {
	fuzztest.Add(f)
	td, err := ReadTracingData(fakeTracefs(), []abi.Event{tracepoint("sched:sched_switch", 315)}, abi.LittleEndian, 8, 4096)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(td.AppendTo(nil))
	td.Order, td.Version = abi.BigEndian, "0.5"
	f.Add(td.AppendTo(nil))
	for _, name := range corpusFiles() {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		if body := fileFeatures(b)[FeatureTracingData]; body != nil {
			f.Add(body)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		defer memtest.Within(t, 1<<20+500*len(b))()
		td, err := DecodeTracingData(b)
		if td == nil {
			t.Fatal("nothing decoded")
		}
		if err != nil {
			return
		}
		again, err := DecodeTracingData(td.AppendTo(nil))
		if err != nil {
			t.Fatalf("decode what was encoded: %v", err)
		}
		// Systems that appear twice are joined, so compare the second form
		// with the third.
		third, err := DecodeTracingData(again.AppendTo(nil))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(again, third); d != "" {
			t.Fatalf("-second +third\n%s", d)
		}
		if len(again.Tracepoints) != len(td.Tracepoints) {
			t.Fatalf("%d tracepoints became %d", len(td.Tracepoints), len(again.Tracepoints))
		}
	})
}
