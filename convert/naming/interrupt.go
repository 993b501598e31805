package naming

import (
	"context"
	"strings"

	"kprof/convert/stacks"
	"kprof/symbolize"
)

// What the kernel shows below the entry of an interrupt or exception is no return
// address but the instruction that was interrupted, which may be the first one of a
// function: it is looked up as it is. Which function is an entry tells its name alone,
// so these frames, looked up as callers at first, are put right once names are known.

// entryPrefixes begin the names of entries, entries are whole names. Both are those of
// assembly code, directly above what was interrupted.
var (
	entryPrefixes = []string{
		"asm_sysvec_", "asm_exc_", "asm_common_interrupt", "asm_spurious_interrupt", "asm_fred_entrypoint_", // x86 since Linux 5.8: idtentry.h
		"el1h_64_", "el1t_64_", // arm64 since 5.14: entry.S; their handlers in C end in _handler
	}
	entries = map[string]bool{
		// x86: where asm_ functions end, and the entries of before.
		"error_return": true, "common_interrupt_return": true, "restore_regs_and_return_to_kernel": true,
		"handle_exception": true, "ret_from_intr": true, "apic_timer_interrupt": true, "reschedule_interrupt": true,
		"call_function_interrupt": true, "call_function_single_interrupt": true, "irq_work_interrupt": true,
		"page_fault": true, "async_page_fault": true, "general_protection": true, "invalid_op": true,
		"xen_hvm_callback_vector": true, "hyperv_callback_vector": true, "hyperv_stimer0_callback_vector": true,
		// arm64 before 5.14, arm, riscv, s390.
		"el1_irq": true, "el1_sync": true, "el1_error": true, "el1_da": true, "el1_fiq": true,
		"__irq_svc": true, "__dabt_svc": true, "__pabt_svc": true, "__und_svc": true, "__fiq_svc": true,
		"ret_from_exception": true, "io_int_handler": true, "ext_int_handler": true, "pgm_check_handler": true,
		// Of x86 before 5.8; since then a function in C that asm_common_interrupt calls.
		commonInterrupt: true,
	}
)

const commonInterrupt = "common_interrupt"

// isEntry reports whether a function of the kernel is an entry.
func isEntry(name string) bool {
	if entries[name] {
		return true
	}
	for _, p := range entryPrefixes {
		if strings.HasPrefix(name, p) {
			return !strings.HasSuffix(name, "_handler")
		}
	}
	return false
}

// frameRole is what a location is below the kernel's leaf.
type frameRole uint8

const (
	userRole       frameRole = iota // the kernel's part of the stack is over
	kernelRole                      // any other function of it
	entryRole                       // the greater ones are entries
	asmEntryRole                    // and what is above it is none, whatever its name
	maybeEntryRole                  // commonInterrupt
)

// roles returns what each location is, nil where no entry is among them.
func roles(set *stacks.Set) []frameRole {
	entry := make([]frameRole, len(set.Functions))
	found := false
	for i := range set.Functions {
		switch name := set.Functions[i].Name; {
		case !isEntry(name):
			continue
		case name == commonInterrupt:
			entry[i] = maybeEntryRole
		case strings.HasPrefix(name, "asm_"):
			entry[i] = asmEntryRole
		default:
			entry[i] = entryRole
		}
		found = true
	}
	if !found {
		return nil
	}
	all := make([]frameRole, len(set.Locations))
	for i := range set.Locations {
		switch set.Locations[i].Kind {
		case stacks.KindKernel:
			all[i] = kernelRole
			if l := set.Lines(uint32(i)); len(l) > 0 {
				all[i] = max(kernelRole, entry[l[len(l)-1].Function])
			}
		case stacks.KindModule, stacks.KindBPF:
			all[i] = kernelRole
		}
	}
	return all
}

// nameInterrupted gives the frames below entries locations of their own, at the
// instruction that was interrupted, and names these.
func nameInterrupted(ctx context.Context, set *stacks.Set, sym *symbolize.Symbolizer) error {
	role := roles(set)
	if role == nil {
		return nil
	}
	known := len(set.Locations)
	exact := map[uint32]uint32{} // by location of the caller
	set.Rewrite(func(stack []uint32) bool {
		if len(stack) == 0 { // an event without one
			return false
		}
		changed := false
		above := role[stack[0]]
		if l := &set.Locations[stack[0]]; l.Mapping == stacks.NoMapping && l.Kind == stacks.KindUnknown {
			above = kernelRole // it may stand for what was there
		}
		for i := 1; i < len(stack) && above != userRole; i++ {
			here := role[stack[i]]
			if here == userRole {
				break
			}
			if above > kernelRole && (above != maybeEntryRole || here != asmEntryRole) {
				loc, ok := exact[stack[i]]
				if !ok {
					l := &set.Locations[stack[i]]
					loc = set.AddLocation(l.Mapping, l.Addr+1, l.Kind)
					exact[stack[i]] = loc
				}
				stack[i], changed = loc, true
			}
			above = here
		}
		return changed
	})
	if len(set.Locations) == known {
		return nil
	}
	_, err := NameFrom(ctx, set, known, sym)
	for caller, loc := range exact { // what has no name, as naming ended, keeps the one it had
		if err != nil && len(set.Lines(loc)) == 0 {
			set.SetLines(loc, set.Lines(caller)...)
		}
	}
	return err
}
