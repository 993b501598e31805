package diff

import (
	"strings"

	"kprof/convert/stacks"
)

// idleFunctions are those of the kernel's idle loop, on all architectures: kernel/sched/idle.c,
// drivers/cpuidle, arch/*/kernel/process.c.
var idleFunctions = set(
	"do_idle", "cpu_startup_entry", "cpu_idle_loop", "cpuidle_idle_call", "default_idle", "default_idle_call",
	"call_cpuidle", "call_cpuidle_s2idle", "cpuidle_enter", "cpuidle_enter_state", "cpu_idle_poll",
	"arch_cpu_idle", "intel_idle", "intel_idle_irq", "intel_idle_ibrs", "intel_idle_xstate",
	"acpi_idle_enter", "acpi_idle_do_entry", "acpi_safe_halt", "acpi_processor_ffh_cstate_enter",
	"mwait_idle", "mwait_idle_with_hints", "amd_e400_idle", "native_safe_halt", "pv_native_safe_halt",
	"poll_idle", "cpu_do_idle", "psci_enter_idle_state", "psw_idle", "enabled_wait", "snooze_loop", "xen_safe_halt",
)

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// isSwapper tells the name of a CPU's idle task: swapper, or swapper/3.
func isSwapper(comm string) bool {
	rest, ok := strings.CutPrefix(comm, "swapper")
	return ok && (rest == "" || rest[0] == '/' && strings.Trim(rest[1:], "0123456789") == "")
}

// idle tells of the rows of a Set which are left out: those of a CPU that has nothing to
// do, and those in interrupts.
type idle struct{ stacks, labels []bool }

// and leaves out some stacks too, those of interruptsOf.
func (i *idle) and(others []uint32) *idle {
	if others == nil {
		return i
	}
	both := &idle{stacks: make([]bool, len(others))}
	if i != nil {
		copy(both.stacks, i.stacks)
		both.labels = i.labels
	}
	for id, n := range others {
		both.stacks[id] = both.stacks[id] || n > 0
	}
	return both
}

func (i *idle) has(x *stacks.Sample) bool {
	return i != nil && (i.stacks[x.Stack] || i.labels != nil && i.labels[x.Labels])
}

// idleOf finds the idle rows of a run: those of the idle task, and those in the idle loop
// where the profile does not know tasks. nil if there are none, or if what is compared
// happens at moments: those of the idle task are as good as any.
func idleOf(r *Run, n *Names) *idle {
	s := r.Set
	if s.Events[r.Event].Instants || r.Exact {
		return nil
	}
	i := &idle{stacks: make([]bool, s.NumStacks()), labels: make([]bool, s.NumLabels())}
	any := false
	for id := range i.labels {
		l := stacks.LabelsID(id)
		comm, _ := s.Label(l, "comm")
		i.labels[id] = isSwapper(comm.Str)
		if pid, ok := s.Label(l, "pid"); ok && pid.Num == 0 && pid.Str == "" && comm.Str == "" {
			i.labels[id] = true
		}
		any = any || i.labels[id]
	}
	inLoop := make([]bool, len(s.Locations))
	loop := false
	for loc := range s.Locations {
		for _, l := range s.Lines(uint32(loc)) {
			name := s.Functions[l.Function].Name
			switch s.Locations[loc].Kind {
			case stacks.KindKernel, stacks.KindModule:
				inLoop[loc] = idleFunctions[kernelFunction(name)]
			case stacks.KindUnknown:
				inLoop[loc] = isSwapper(name) || idleFunctions[kernelFunction(name)]
			}
			if inLoop[loc] {
				loop = true
				break
			}
		}
	}
	if loop {
		for id := range i.stacks {
			for _, loc := range s.Stack(stacks.StackID(id)) {
				if inLoop[loc] {
					i.stacks[id], any = true, true
					break
				}
			}
		}
	}
	if !any {
		return nil
	}
	return i
}
