package diff

import (
	"strings"

	"kprof/convert/stacks"
)

// interruptEntries are functions through which the kernel handles what devices, timers and
// other CPUs want, on all architectures, beside those with interruptPrefixes: below them
// is no work of the task that happened to run. Softirqs that a task runs itself
// (do_softirq) are its own.
var interruptEntries = set(
	"common_interrupt", "asm_common_interrupt", "do_IRQ", "irq_exit", "irq_exit_rcu", "__irq_exit_rcu",
	"smp_apic_timer_interrupt", "apic_timer_interrupt", "reschedule_interrupt", "call_function_single_interrupt",
	"gic_handle_irq", "el0_irq", "el1_irq", "el1h_64_irq", "el0t_64_irq", "el1_interrupt", "el0_interrupt", // arm64
	"do_irq", "do_riscv_irq", "timer_interrupt", "do_io_irq", "do_ext_irq", // riscv, powerpc, s390
	"handle_irq_event", "generic_handle_arch_irq",
)

// interruptPrefixes are of x86's vectors (DEFINE_IDTENTRY_SYSVEC).
var interruptPrefixes = []string{"sysvec_", "asm_sysvec_"}

func isInterrupt(name string) bool {
	if interruptEntries[name] {
		return true
	}
	for _, p := range interruptPrefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// interruptsOf tells which stacks of a run are of interrupts; nil if none is.
func interruptsOf(r *Run) (in []bool) {
	s := r.Set
	if s.Events[r.Event].Instants || r.Exact {
		return nil
	}
	at := make([]bool, len(s.Locations))
	some := false
	for loc := range s.Locations {
		if s.Locations[loc].Kind == stacks.KindUser {
			continue
		}
		for _, l := range s.Lines(uint32(loc)) {
			if isInterrupt(withoutSuffixes(unmarked(s.Functions[l.Function].Name))) {
				at[loc], some = true, true
			}
		}
	}
	if !some {
		return nil
	}
	in = make([]bool, s.NumStacks())
	for id := range in {
		for _, loc := range s.Stack(stacks.StackID(id)) {
			if at[loc] {
				in[id] = true
				break
			}
		}
	}
	return in
}
