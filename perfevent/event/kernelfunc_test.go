//go:build linux

package event

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/procfs/procfstest"
)

const kallsyms = `0000000000000000 A fixed_percpu_data
ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81001000 T vfs_read
ffffffff81001300 t vfs_readv
ffffffff81001400 t event_show
ffffffff81001500 t event_show
ffffffff81001600 t do_it.isra.0
ffffffff81001700 t do_it.part.0
ffffffff81001800 t do_it.cold
ffffffff81001900 D some_data
ffffffff81002000 W last
ffffffffc0000000 t dummy_xmit	[dummy]
ffffffffc0000100 t bpf_prog_1	[bpf]
ffffffffc0000200 t ftrace_trampoline	[__builtin__ftrace]
ffffffffc0000300 t $x	[dummy]
`

func parseFuncs(text string) kernelFuncs {
	all, err := readKernelFuncs(strings.NewReader(text))
	if err != nil {
		panic(err) // of a string
	}
	return all.withSizes()
}

func TestKernelFuncs(t *testing.T) {
	all := parseFuncs(kallsyms)
	if f := all.named("vfs_read", ""); len(f) != 1 || f[0].size != 0x300 {
		t.Errorf("%+v", f)
	}
	if f := all.named("event_show", ""); len(f) != 2 {
		t.Errorf("%+v", f)
	}
	if f := all.named("dummy_xmit", "dummy"); len(f) != 1 || f[0].spec() != "kprobe:dummy:dummy_xmit" || f[0].size != 0 {
		t.Errorf("%+v", f)
	}
	if f := all.named("dummy_xmit", "other"); len(f) != 0 {
		t.Errorf("%+v", f)
	}
	if s := spellings(all.variants("do_it")); s != "kprobe:do_it.isra.0, kprobe:do_it.part.0" {
		t.Error(s)
	}
	for addr, want := range map[uint64]string{
		0xffffffff81000fff: "_text", 0xffffffff81001000: "vfs_read", 0xffffffff810012ff: "vfs_read", 0xffffffff81001300: "vfs_readv",
		0xffffffff80ffffff: "", 0xffffffffc0000000: "", 0: "",
	} {
		if f, ok := all.at(addr); f.name != want || ok != (want != "") {
			t.Errorf("%#x: %q, %v; want %q", addr, f.name, ok, want)
		}
	}
	for name, want := range map[string][]string{
		"vfs_raed": {"vfs_read", "vfs_readv"}, "event": {"event_show"}, "vfs": nil, "": nil, "xxxxxxxxxxxx": nil,
		"vfs_rea": {"vfs_read"},
	} {
		if d := cmp.Diff(want, all.near(name)); d != "" {
			t.Errorf("%s: -want +got\n%s", name, d)
		}
	}
	for _, line := range []string{"", "x", "0 t", "g t name", "0 tt name", "0  t", "0 t a b c", "0 t $d"} {
		if f := parseFuncs(line); len(f) > 0 {
			t.Errorf("%q: %+v", line, f)
		}
	}
}

// TestReturnTrampolines: those of old and new kernels.
func TestReturnTrampolines(t *testing.T) {
	r := &Resolver{funcs: parseFuncs(`ffffffff81000000 T kretprobe_trampoline
ffffffff81000100 T __kretprobe_trampoline
ffffffff81000200 T arch_rethook_trampoline
ffffffff81000300 T return_to_handler
ffffffff81000400 T kretprobe_trampoline_handler`)}
	if got, want := r.ReturnTrampolines(), []uint64{0xffffffff81000000, 0xffffffff81000100, 0xffffffff81000200, 0xffffffff81000300}; !slices.Equal(got, want) {
		t.Errorf("%#x, want %#x", got, want)
	}
}

// TestBoundaries decodes code like the start of a kernel function: a call that
// ftrace patches, pushes, endbr64, a subtraction.
func TestBoundaries(t *testing.T) {
	code := []byte("\x0f\x1f\x44\x00\x00\x41\x57\x41\x56\x55\x53\xf3\x0f\x1e\xfa\x48\x83\xec\x08")
	starts := map[uint64]bool{0: true, 5: true, 7: true, 9: true, 10: true, 11: true, 15: true, 19: true}
	for off := range uint64(20) {
		before, after, ok := boundaries(code, 64, off)
		if !ok || starts[off] != (after == off) || before >= after && off > 0 || !starts[before] || !starts[after] {
			t.Errorf("%d: between %d and %d, %v", off, before, after, ok)
		}
	}
	for _, code := range []string{"", "\x06", "\x48", "\x48\x83"} {
		if _, _, ok := boundaries([]byte(code), 64, 4); ok {
			t.Errorf("% x: decoded", code)
		}
	}
}

func BenchmarkKernelFuncs(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := new(Resolver).kernelFuncs(); err != nil {
			b.Skip(err)
		}
	}
}

func TestKernelFuncsOdd(t *testing.T) {
	all, err := readKernelFuncs(strings.NewReader(procfstest.Kallsyms))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range all {
		got = append(got, fmt.Sprintf("%x %s %s", f.addr, f.name, f.module))
	}
	if d := cmp.Diff([]string{
		"ffffffff81000000 _stext ", "ffffffff81000000 _text ", "ffffffff81000100 work ", "ffffffff81000200 work ", "0 hidden ",
		"ffffffff81000400 odd[0] ", "ffffffff81000500 _etext ", "ffffffffc0000000 init fuse", "ffffffffc0000100 spaced fuse",
		"ffffffffc0000200 words two words", "ffffffffc0005000 last fuse",
	}, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}
