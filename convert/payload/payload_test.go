package payload

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/format"
	"kprof/perfevent/format/expr"
	"kprof/perfevent/perfdata"
)

func text(name, fields string) string {
	return "name: " + name + "\nID: 1\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n" + fields + "\nprint fmt: \"\"\n"
}

// events are one tracepoint of three formats each, and a clock.
func events() (*Formats, []*perfdata.Event) {
	f := New(&perfdata.TracingData{LongSize: 8, Tracepoints: []perfdata.Tracepoint{
		{System: "s", Name: "number", ID: 1, Format: text("number", "\tfield:int x;\toffset:4;\tsize:4;\tsigned:1;\n")},
		{System: "s", Name: "text", ID: 2, Format: text("text", "\tfield:char x[4];\toffset:4;\tsize:4;\tsigned:1;\n")},
		{System: "s", Name: "broken", ID: 3, Format: text("broken", "\tfield:int x;\toffset:four;\tsize:4;\tsigned:1;\n")},
	}})
	set := perfdata.NewEventSet(abi.LittleEndian, nil)
	for i, name := range []string{"s:number:u", "kprobe:text", "s:broken"} {
		set.Add(abi.Event{Name: name, Attr: abi.Attr{Type: abi.TypeTracepoint, Config: uint64(i + 1)}})
	}
	set.Add(abi.Event{Name: "cpu-clock", Attr: abi.Attr{Type: abi.TypeSoftware, Config: 1}})
	return f, set.Events
}

func TestBind(t *testing.T) {
	f, all := events()
	number, txt, broken, clock := all[0], all[1], all[2], all[3]
	for _, c := range []struct {
		src    string
		events []*perfdata.Event
		err    string // a part of it; "" for none
	}{
		{"x > 1", []*perfdata.Event{number, clock}, ""},
		{"x > 1", []*perfdata.Event{number, txt}, "x is text"},
		{"x == 'abc'", []*perfdata.Event{txt}, ""},
		{"number.x > 1", []*perfdata.Event{number, txt}, ""},
		{"xx > 1", []*perfdata.Event{number}, `no event has a field "xx"`},
		{"x > 1", []*perfdata.Event{clock}, `no event has a field "x"`},
		{"x > 1", []*perfdata.Event{broken}, "broken"},
		{"event == 'number'", all[:2], ""},
	} {
		x, err := expr.Parse(c.src)
		if err != nil {
			t.Fatal(err)
		}
		err = f.Bind(x).Check(c.events)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v, want %q", c.src, err, c.err)
		}
		if again := f.Bind(x).Check(c.events); (again == nil) != (err == nil) {
			t.Errorf("%s: %v, and then %v", c.src, err, again)
		}
	}
	if _, err := f.Of(&broken.Attr); !errors.As(err, new(*format.SyntaxError)) {
		t.Errorf("a broken format: %v", err)
	}
	names := f.FieldNames([]*perfdata.Event{number, broken, clock})
	if want := []string{"comm", "common_type", "cpu", "event", "pid", "tid", "time", "x"}; !slices.Equal(names, want) {
		t.Errorf("names %q, want %q", names, want)
	}
}

// TestFill: what a recording does not have of its samples has no value.
func TestFill(t *testing.T) {
	x, err := expr.Parse("cpu == 0 || pid == 0 || time == 0 || comm == 'a'")
	if err != nil {
		t.Fatal(err)
	}
	p, err := x.Compile("cpu-clock", nil)
	if err != nil {
		t.Fatal(err)
	}
	var s expr.Sample
	none := abi.Sample{SampleIDFields: abi.SampleIDFields{CPU: -1}}
	s.Comm = "a"
	if Fill(&s, &none, &abi.Attr{}); p.Match(&s) != expr.Unknown {
		t.Errorf("of nothing: %v", p.Match(&s))
	}
	for typ, cpu := range map[abi.SampleType]int32{abi.SampleCPU: 0, abi.SampleTID: -1, abi.SampleTime: -1} {
		none.CPU = cpu
		if Fill(&s, &none, &abi.Attr{SampleType: typ}); p.Match(&s) != expr.Yes {
			t.Errorf("of %#x: %v", typ, p.Match(&s))
		}
	}
	if n := testing.AllocsPerRun(10, func() { Fill(&s, &none, &abi.Attr{}); p.Match(&s) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestOptional: what samples of some events have is a name where they have it, and the event's
// own field where it has one of that name.
func TestOptional(t *testing.T) {
	f := New(&perfdata.TracingData{LongSize: 8, Tracepoints: []perfdata.Tracepoint{
		{System: "s", Name: "own", ID: 1, Format: text("own", "\tfield:int addr;\toffset:4;\tsize:4;\tsigned:1;\n")},
	}})
	f.Arch = "x86_64"
	set := perfdata.NewEventSet(abi.LittleEndian, nil)
	set.Add(abi.Event{Name: "s:own", Attr: abi.Attr{Type: abi.TypeTracepoint, Config: 1, SampleType: abi.SampleAddr}})
	set.Add(abi.Event{Name: "page-faults", Attr: abi.Attr{Type: abi.TypeSoftware, Config: 2, SampleType: abi.SampleAddr | abi.SamplePhysAddr | abi.SampleWeightStruct}})
	set.Add(abi.Event{Name: "cpu-clock", Attr: abi.Attr{Type: abi.TypeSoftware}})
	set.Add(abi.Event{Name: "cycles", Attr: abi.Attr{SampleType: abi.SampleRegsUser | abi.SampleRegsIntr, SampleRegsUser: 1<<8 | 1<<23, SampleRegsIntr: 1 | 1<<8}})
	set.Add(abi.Event{Name: "mem-loads", Attr: abi.Attr{SampleType: abi.SampleDataSrc | abi.SampleWeight | abi.SampleDataPageSize}})
	set.Add(abi.Event{Name: "mem-stores", Attr: abi.Attr{SampleType: abi.SampleCodePageSize}})
	own, faults, clock, regs, loads, stores := set.Events[0], set.Events[1], set.Events[2], set.Events[3], set.Events[4], set.Events[5]
	sample := abi.Sample{
		DataSrc: 2, DataPageSize: 4096, CodePageSize: 2 << 20,
		Addr: 7 << 40, PhysAddr: 9, Weight: 6<<48 | 5<<32 | 3, Raw: []byte{1, 0, 0, 0, 11, 0, 0, 0},
		UserRegs: []uint64{1008, 1023}, IntrRegs: []uint64{2000, 2008},
	}
	for _, c := range []struct {
		event *perfdata.Event
		src   string
		want  int64 // -1: the event lacks it
	}{
		{own, "addr", 11}, {own, "weight", -1},
		{faults, "addr", 7 << 40}, {faults, "phys_addr", 9}, {faults, "weight", 3}, {faults, "field.addr", -1},
		{faults, "ins_lat", 5}, {faults, "retire_lat", 6}, {faults, "data_src", -1}, {faults, "data_page_size", -1},
		{loads, "weight", 6<<48 | 5<<32 | 3}, {loads, "ins_lat", -1}, {loads, "retire_lat", -1}, {loads, "data_src", 2}, {loads, "mem_op == 'LOAD'", 1},
		{loads, "data_page_size", 4096}, {loads, "code_page_size", -1}, {stores, "code_page_size", 2 << 20}, {stores, "data_page_size", -1}, {stores, "mem_op == 'LOAD'", -1},
		{clock, "addr", -1}, {clock, "ip", -1},
		{regs, "ip", 1008}, {regs, "IP", 1008}, {regs, "uregs.ip", 1008}, {regs, "iregs.ip", 2008},
		{regs, "r15", 1023}, {regs, "iregs.r15", -1}, {regs, "ax", 2000}, {regs, "uregs.ax", -1}, {regs, "field.ax", -1},
	} {
		x, err := expr.Parse(c.src)
		if err != nil {
			t.Fatal(err)
		}
		p, err := f.Bind(x).Of(c.event)
		if err != nil {
			t.Fatal(err)
		}
		var s expr.Sample
		Fill(&s, &sample, &c.event.Attr)
		v, ok := p.Value(&s)
		n, _ := v.Int64()
		if ok != (c.want >= 0) || ok && n != c.want || (len(p.Missing()) > 0) == ok {
			t.Errorf("%s of %s: %d, %v, want %d; missing %q", c.src, c.event.Name, n, ok, c.want, p.Missing())
		}
	}
	var kthread expr.Sample // without registers of user code
	Fill(&kthread, &abi.Sample{IntrRegs: sample.IntrRegs}, &regs.Attr)
	for name, want := range map[string]bool{"r15": false, "ax": true} {
		p := f.Own(regs, name)
		if _, ok := p.Value(&kthread); ok != want {
			t.Errorf("%s of a task without registers: %v", name, ok)
		}
	}
	if f.Own(own, "addr") != nil || f.Own(faults, "weight") == nil || f.Own(regs, "uregs.ip") == nil || f.Own(regs, "pid") != nil || f.Own(regs, "ip+1") != nil || f.Own(loads, "mem_op") == nil || f.Own(stores, "mem_op") != nil {
		t.Error("what is a sample's own")
	}
	if got, want := f.LabelNames([]*perfdata.Event{regs, own}), []string{"addr", "ax", "ip", "r15"}; !slices.Equal(got, want) {
		t.Errorf("labels %q, want %q", got, want)
	}
	if names := f.FieldNames([]*perfdata.Event{faults}); !slices.Contains(names, "phys_addr") || slices.Contains(f.FieldNames([]*perfdata.Event{clock}), "addr") {
		t.Errorf("names %q", names)
	}
}
