package trace_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"kprof/convert"
	"kprof/convert/listing"
	"kprof/convert/trace"
	"kprof/perfevent/abi"
	"kprof/perfevent/tracetest"
)

// TestLastBoot: functions in a buffer that the boot before wrote have the names that were at their addresses
// then; those of a buffer of this boot the names of now. Of a file with both, the addresses are those of now.
func TestLastBoot(t *testing.T) {
	m := tracetest.Machine{Order: abi.LittleEndian, Long: 8, Page: 4096}
	const now = "ffffffff81000000 T _text\nffffffff81000100 T schedule\nffffffff81001000 T _etext\n" +
		"ffffffffc0000010 t module_code\t[mod]\nffffffffc0000f00 t more_code\t[mod]\nffffffffc0008010 t new_code\t[new]\n"
	const then = "ffffffff9a000000 T _text\nffffffff9a000100 T schedule\nffffffff9a001000 T _etext\n" +
		"ffffffffc0a02010 t module_code\t[mod]\nffffffffc0a02f00 t more_code\t[mod]\n"
	buffer := tracetest.Instance{Name: "boot_mapped", Clock: "local", CPUs: [][][]byte{
		{m.Sub(1000, 0, m.Event(0, m.Tick(7, 1)), m.Event(1, m.Stack(4, 7, 3, 0xffffffff9a000110, 0xffffffffc0a02f10, 0xffffffffc0b00010)))},
	}}
	top := tracetest.Instance{Clock: "local", CPUs: [][][]byte{{m.Sub(1000, 0, m.Event(0, m.Tick(7, 1)), m.Event(1, m.Stack(4, 7, 1, 0xffffffff9a000110)))}}}
	for _, tt := range []struct {
		what, info string
		buffers    []tracetest.Instance
		want       string
		stacks     []string // in the records
	}{
		{"of the boot before", "trace_clock: local\nffffffff9a000000\t[kernel]\nffffffffc0a02000\tmod\nffffffffc0b00000\tgone\n", []tracetest.Instance{{Clock: "local", CPUs: [][][]byte{nil}}, buffer}, then, []string{"9a000110 ffffffffc0a02f10 ffffffffc0b00010"}},
		{"of this boot", "# Current\n", []tracetest.Instance{{Clock: "local", CPUs: [][][]byte{nil}}, buffer}, now, []string{"9a000110 ffffffffc0a02f10 ffffffffc0b00010"}},
		{"of both", "ffffffff9a000000\t[kernel]\nffffffffc0a02000\tmod\nffffffffc0b00000\tgone\n", []tracetest.Instance{top, buffer}, now, []string{"ffffffff9a000110", "ffffffff81000110 ffffffffc0000f10 0"}},
	} {
		f := &tracetest.Dat{
			Machine: m, Version: 7, Compression: "none", Ftrace: []string{tracetest.KernelStack},
			Systems: []tracetest.System{{Name: "test", Formats: []string{tracetest.Tick}}}, Kallsyms: now,
			Options: []tracetest.Option{{ID: 8, Data: m.Order.AppendUint32(nil, 1)}, {ID: 24, Data: []byte("boot_mapped:" + tt.info + "\x00")}},
			Buffers: tt.buffers,
		}
		r := open(t, f.Bytes())
		k, err := r.KernelSymbols()
		if err != nil || string(k.Kallsyms) != tt.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", tt.what, err, k.Kallsyms, tt.want)
		}
		got, err := records(t, r)
		if mapped := "mmap -1 " + tt.want[:16]; err != nil || !strings.HasPrefix(got, mapped) {
			t.Errorf("%s: %v, %s\nwant %s", tt.what, err, got, mapped)
		}
		for _, stack := range tt.stacks {
			if !strings.Contains(got, stack) {
				t.Errorf("%s: no %s in\n%s", tt.what, stack, got)
			}
		}
	}
}

// TestLastBootOfDir: the same of a directory of pages.
func TestLastBootOfDir(t *testing.T) {
	m := tracetest.Machine{Order: abi.LittleEndian, Long: 8, Page: 4096}
	const under = "instances/boot_mapped/"
	dir := fstest.MapFS{}
	for name, text := range map[string]string{
		"events/ftrace/kernel_stack/format": tracetest.KernelStack, "events/test/tick/format": tracetest.Tick,
		"kallsyms": "ffffffff81000000 T _text\nffffffff81000100 T schedule\nffffffff81001000 T _etext\n", under + "last_boot_info": "ffffffff9a000000\t[kernel]\n",
		under + "per_cpu/cpu0/trace_pipe_raw": string(m.Sub(1000, 0, m.Event(0, m.Tick(7, 1)))),
	} {
		dir[name] = &fstest.MapFile{Data: []byte(text)}
	}
	r, err := trace.OpenDir(t.Context(), dir, false)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	k, err := r.KernelSymbols()
	if want := "ffffffff9a000000 T _text\nffffffff9a000100 T schedule\nffffffff9a001000 T _etext\n"; err != nil || string(k.Kallsyms) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, k.Kallsyms, want)
	}
}

// TestCallsOfLastBoot: functions of function_graph in such a buffer beside one of this boot.
func TestCallsOfLastBoot(t *testing.T) {
	m := tracetest.Machine{Order: abi.LittleEndian, Long: 8, Page: 4096}
	calls := func(name string, fn uint64) tracetest.Instance {
		return tracetest.Instance{Name: name, Clock: "local", CPUs: [][][]byte{{m.Sub(1000, 0, m.Event(0, m.Enter(7, fn, 0)), m.Event(10, m.Leave(7, fn, 0, 1000, 1010)))}}}
	}
	f := &tracetest.Dat{
		Machine: m, Version: 7, Compression: "none", Ftrace: []string{tracetest.GraphEntry, tracetest.GraphExit}, Kallsyms: symbols,
		Options: []tracetest.Option{{ID: 8, Data: m.Order.AppendUint32(nil, 1)}, {ID: 24, Data: []byte("boot_mapped:ffffffff9a000000\t[kernel]\n\x00")}},
		Buffers: []tracetest.Instance{calls("", schedule), calls("boot_mapped", schedule-0xffffffff81000000+0xffffffff9a000000)},
	}
	name := written(t, string(f.Bytes()))
	for _, event := range []string{"ftrace:function_graph", "ftrace:function_graph@boot_mapped"} {
		if got, want := strings.Join(folded(t, name, event, 1, convert.Options{}), ","), "schedule 10"; got != want {
			t.Errorf("%s: %q, want %q", event, got, want)
		}
	}
	text := list(t, name, listing.Options{}, listing.PrinterOptions{})
	if n := strings.Count(text, "--> schedule (0)"); n != 2 {
		t.Errorf("%d times in\n%s", n, text)
	}
}
