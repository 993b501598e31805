package naming

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprof/convert/replay"
	"kprof/convert/stacks"
	"kprof/perfevent/perfdata/perftext"
	"kprof/symbolize"
)

// interruptSymbols are functions of a kernel, one every 0x100 bytes.
var interruptSymbols = []string{
	"_text", "start_kernel", "asm_sysvec_apic_timer_interrupt", "sysvec_apic_timer_interrupt", "handler",
	"before", "interrupted", "caller", "asm_common_interrupt", "common_interrupt", "el1h_64_irq", "el1h_64_irq_handler",
	"apic_timer_interrupt", "smp_apic_timer_interrupt", "asm_load_gs_index", "error_return",
}

// TestInterrupted: what an interrupt's entry shows below itself is the instruction that
// was interrupted, be it the first of a function; a caller is looked up before its
// return address, which is the first of the next function where the call comes last.
func TestInterrupted(t *testing.T) {
	const base uint64 = 0xffffffff81000000
	var kallsyms strings.Builder
	for i, name := range interruptSymbols {
		fmt.Fprintf(&kallsyms, "%x T %s\n", base+0x100*uint64(i), name)
	}
	fmt.Fprintf(&kallsyms, "%x T _etext\n", base+0x100*uint64(len(interruptSymbols)))
	for _, c := range []struct {
		chain string // names with offsets, from the leaf
		user  string
		want  string
	}{
		{"handler+8 sysvec_apic_timer_interrupt+8 asm_sysvec_apic_timer_interrupt+0x16 interrupted+0 caller+0", "", "handler sysvec_apic_timer_interrupt asm_sysvec_apic_timer_interrupt interrupted interrupted"},
		{"handler+8 interrupted+0 caller+8", "", "handler before caller"},
		{"asm_sysvec_apic_timer_interrupt+2 interrupted+0", "", "asm_sysvec_apic_timer_interrupt interrupted"},
		{"error_return+2 interrupted+0", "", "error_return interrupted"},
		{"handler+8 common_interrupt+8 asm_common_interrupt+8 interrupted+0", "", "handler common_interrupt asm_common_interrupt interrupted"},
		{"handler+8 common_interrupt+8 interrupted+0", "", "handler common_interrupt interrupted"},
		{"handler+8 el1h_64_irq_handler+8 el1h_64_irq+0x68 interrupted+0 caller+8", "", "handler el1h_64_irq_handler el1h_64_irq interrupted caller"},
		{"el1h_64_irq_handler+8 interrupted+0", "", "el1h_64_irq_handler before"},
		{"smp_apic_timer_interrupt+8 apic_timer_interrupt+8 interrupted+0", "", "smp_apic_timer_interrupt apic_timer_interrupt interrupted"},
		{"asm_load_gs_index+8 interrupted+0", "", "asm_load_gs_index before"},
		// An interrupt of an interrupt's entry.
		{"handler+8 asm_sysvec_apic_timer_interrupt+8 asm_common_interrupt+8 interrupted+0 caller+0", "", "handler asm_sysvec_apic_timer_interrupt asm_common_interrupt interrupted interrupted"},
		{"handler+8 asm_sysvec_apic_timer_interrupt+8", "0x1000 0x2000", "handler asm_sysvec_apic_timer_interrupt 0x1000 0x1fff"},
	} {
		var chain []string
		for f := range strings.FieldsSeq(c.chain) {
			name, off, _ := strings.Cut(f, "+")
			var n uint64
			fmt.Sscan(off, &n)
			chain = append(chain, fmt.Sprintf("%#x", base+0x100*uint64(slices.Index(interruptSymbols, name))+n))
		}
		user := ""
		if c.user != "" {
			user = " user " + c.user
		}
		rec := perftext.MustParse(fmt.Sprintf(`
event cycles type=hardware
mmap t=0 pid=-1 addr=%#x len=0x10000 off=%#x file=[kernel.kallsyms]_text
sample t=1 pid=7 kernel %s%s
sample t=2 pid=7 kernel %s
`, base, base, strings.Join(chain, " "), user, chain[0]))
		set := stacksOf(t, rec)
		sym := symbolize.New(symbolize.Options{Kallsyms: strings.NewReader(kallsyms.String())})
		missing, err := Name(t.Context(), set, sym)
		if err != nil || len(missing) > 0 {
			t.Fatal(missing, err)
		}
		if err := sym.Close(); err != nil {
			t.Error(err)
		}
		var got []string
		for _, loc := range set.Stack(set.Sample(0).Stack) {
			if l := set.Lines(loc); len(l) > 0 {
				got = append(got, set.Functions[l[0].Function].Name)
			} else {
				got = append(got, fmt.Sprintf("%#x", set.Locations[loc].Addr))
			}
		}
		if g := strings.Join(got, " "); g != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.chain, g, c.want)
		}
	}
}

// stacksOf returns the stacks of a recording, without names.
func stacksOf(t *testing.T, rec *perftext.Recording) *stacks.Set {
	t.Helper()
	r := rec.Reader(t, perftext.Form{})
	set, _, err := replay.File(t.Context(), r, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestInterruptedExact: where callers are exact already, they stay where they are. One stack
// is empty, as that of a trace's event without one.
func TestInterruptedExact(t *testing.T) {
	const base uint64 = 0xffffffff81000000
	for _, exact := range []bool{false, true} {
		set := stacks.New(stacks.Event{Name: "e", Values: []stacks.ValueType{{Type: "e"}}})
		set.CallersExact = exact
		m := set.AddMapping(stacks.Mapping{Start: base, Limit: base + 0x1000, File: "[kernel.kallsyms]", Offset: base, Symbol: "_text", Kind: stacks.KindKernel})
		entry, below := set.AddLocation(m, base+0x10, stacks.KindKernel), set.AddLocation(m, base+0x1ff, stacks.KindKernel)
		set.Intern(nil)
		id := set.Intern([]uint32{entry, below})
		sym := symbolize.New(symbolize.Options{Kallsyms: strings.NewReader(fmt.Sprintf("%x T el1h_64_irq\n%x T before\n%x T behind\n%x T _etext\n", base, base+0x100, base+0x200, base+0x1000))})
		if _, err := Name(t.Context(), set, sym); err != nil {
			t.Fatal(err)
		}
		if err := sym.Close(); err != nil {
			t.Error(err)
		}
		loc := set.Stack(id)[1]
		got := set.Functions[set.Lines(loc)[0].Function].Name
		if want := map[bool]string{false: "behind", true: "before"}[exact]; got != want {
			t.Errorf("exact %v: below the entry is %s, want %s", exact, got, want)
		}
	}
}
