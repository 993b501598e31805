package trace_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"kprof/convert/trace"
	"kprof/perfevent/abi"
	"kprof/perfevent/tracetest"
)

// TestLastBoot: functions in a buffer that the boot before wrote have the names that were at their addresses
// then; those of a buffer of this boot, and of files with both, the names of now.
func TestLastBoot(t *testing.T) {
	m := tracetest.Machine{Order: abi.LittleEndian, Long: 8, Page: 4096}
	const now = "ffffffff81000000 T _text\nffffffff81000100 T schedule\nffffffff81001000 T _etext\n" +
		"ffffffffc0000010 t module_code\t[mod]\nffffffffc0000f00 t more_code\t[mod]\nffffffffc0008010 t new_code\t[new]\n"
	const then = "ffffffff9a000000 T _text\nffffffff9a000100 T schedule\nffffffff9a001000 T _etext\n" +
		"ffffffffc0a02010 t module_code\t[mod]\nffffffffc0a02f00 t more_code\t[mod]\n"
	buffer := tracetest.Instance{Name: "boot_mapped", Clock: "local", CPUs: [][][]byte{
		{m.Sub(1000, 0, m.Event(0, m.Tick(7, 1)), m.Event(1, m.Stack(4, 7, 2, 0xffffffff9a000110, 0xffffffffc0a02f10)))},
	}}
	top := tracetest.Instance{Clock: "local", CPUs: [][][]byte{{m.Sub(1000, 0, m.Event(0, m.Tick(7, 1)))}}}
	for _, tt := range []struct {
		what, info string
		buffers    []tracetest.Instance
		want       string
	}{
		{"of the boot before", "trace_clock: local\nffffffff9a000000\t[kernel]\nffffffffc0a02000\tmod\nffffffffc0b00000\tgone\n", []tracetest.Instance{{Clock: "local", CPUs: [][][]byte{nil}}, buffer}, then},
		{"of this boot", "# Current\n", []tracetest.Instance{{Clock: "local", CPUs: [][][]byte{nil}}, buffer}, now},
		{"of both", "ffffffff9a000000\t[kernel]\n", []tracetest.Instance{top, buffer}, now},
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
