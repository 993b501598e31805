package diff

import (
	"cmp"
	"slices"
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

// interruptThreads are functions of the kernel's threads that go on with the work of interrupts:
// kernel/softirq.c, kernel/irq/manage.c, kernel/rcu, kernel/smpboot.c.
var interruptThreads = set(
	"run_ksoftirqd", "irq_thread", "smpboot_thread_fn",
	"rcu_gp_kthread", "rcu_cpu_kthread", "rcu_boost_kthread", "rcu_nocb_gp_kthread", "rcu_nocb_cb_kthread",
	"rcu_tasks_kthread", "rcu_tasks_one_gp", "srcu_invoke_callbacks", "process_srcu",
)

// interruptsOf tells of each stack of a run how many locations, from the leaf on, are in interrupts
// or, with threads, in those that go on with their work: 0 for none. It is nil where no stack is.
func interruptsOf(r *Run, threads bool) (in []uint32) {
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
			if name := kernelFunction(s.Functions[l.Function].Name); isInterrupt(name) || threads && interruptThreads[name] {
				at[loc], some = true, true
			}
		}
	}
	if !some {
		return nil
	}
	in = make([]uint32, s.NumStacks())
	for id := range in {
		for i, loc := range slices.Backward(s.Stack(stacks.StackID(id))) {
			if at[loc] {
				in[id] = uint32(i) + 1
				break
			}
		}
	}
	return in
}

// Interrupts is what ran in interrupts, and in the threads that go on with their work, where one
// run of each side is compared: it differs from run to run by more than shows within a run, and
// so is left out of what is compared, and shown by itself.
type Interrupts struct {
	Base, New float64 // share of the total, idle left out
	// Functions are those that differ by more than the blocks of both runs explain, those first
	// that do so themselves, then the largest difference; in shares of the total that has
	// interrupts in it. Whether that is a change is not known.
	Functions []Function

	upper   float64 // the largest upper bound of those that do not
	upperOf string
	values  [2]int64 // what was left out of both sides
}

// mostInterrupts is the share of a side from which on interrupts are what it does, and are
// compared as anything else.
const mostInterrupts = 0.5

// leaveInterrupts leaves interrupts out of runs, one of each side, of which idle is left out, if
// there are any, and returns what of each is left out then.
func leaveInterrupts(runs [2][]Run, o *Options) (in *Interrupts, left [2][]uint32) {
	if len(runs[0]) != 1 || len(runs[1]) != 1 || o.WithInterrupts || o.Program || o.Per != PerShare && o.Per != PerEvent {
		return nil, left
	}
	in = &Interrupts{}
	for side, share := range []*float64{&in.Base, &in.New} {
		r := &runs[side][0]
		if r.Measured {
			return nil, left
		}
		if left[side] = interruptsOf(r, true); left[side] == nil {
			continue
		}
		all, before := r.total(r.Column), r.idle
		r.idle = before.and(left[side])
		in.values[side] = all - r.total(r.Column)
		if all > 0 {
			*share = float64(in.values[side]) / float64(all)
		}
		r.idle = before
	}
	if most := max(in.Base, in.New); most == 0 || most > mostInterrupts {
		return nil, left
	}
	for side := range runs {
		if r := &runs[side][0]; left[side] != nil {
			r.idle = r.idle.and(left[side])
		}
	}
	return in, left
}

// interruptCosts sums up what functions cost in interrupts, nil where that is less than could be
// reported.
func (r *Result) interruptCosts() (c [2][]*cost) {
	in := r.Interrupts
	if in == nil || in.Base+in.New < r.MinEffect {
		return c
	}
	for side := range r.whole {
		only := r.left[side]
		if only == nil {
			only = make([]uint32, r.whole[side][0].Set.NumStacks())
		}
		c[side] = []*cost{costs(&r.whole[side][0], r.names[side][0], r.Per, only)}
	}
	return c
}

// eachInterrupt calls yield as eachStack does with the part of stacks that is in interrupts, where
// these were left out.
func (r *Result) eachInterrupt(yield func(side int, fns []uint32, value int64)) {
	if r.inside[0] == nil {
		return
	}
	var fns []uint32
	for side := range r.whole {
		run := &r.whole[side][0]
		values := run.stackValues()
		for id, n := range r.left[side] {
			if n > 0 && values[id] != 0 {
				fns = r.names[side][0].appendFunctions(fns[:0], run.Set.Stack(stacks.StackID(id))[:n])
				yield(side, fns, values[id])
			}
		}
	}
}

// interrupts compares what functions cost in interrupts.
func (r *Result) interrupts() {
	in, c := r.Interrupts, r.inside
	if c[0] == nil {
		return
	}
	d := newData(r.whole, c, r.Per)
	m := newModel(d, r)
	scale := float64(c[0][0].total) / d.denominators[0][0]
	var tests []test
	var found []*Function
	for fn := range uint32(len(r.table.functions)) {
		base, new := c[0][0], c[1][0]
		if base.cum[fn] == 0 && new.cum[fn] == 0 {
			continue
		}
		f := &Function{
			Name: r.table.functions[fn], Verdict: Unclear, BaseSelf: base.self[fn], NewSelf: new.self[fn], BaseCum: base.cum[fn], NewCum: new.cum[fn],
		}
		f.Self, f.Cum = m.difference(d.function(fn, false)), m.difference(d.function(fn, true))
		for _, x := range []*Difference{&f.Self, &f.Cum} {
			if x.middle() >= r.MinEffect/2*scale {
				x.tested = true
				tests = append(tests, test{x})
			}
		}
		found = append(found, f)
	}
	holm(tests)
	alpha := r.Alpha / float64(max(len(tests), 1))
	for _, f := range found {
		for _, x := range []*Difference{&f.Self, &f.Cum} {
			if !x.tested {
				continue
			}
			x.Significant = x.Adjusted <= r.Alpha && abs(x.Diff) >= r.MinEffect*scale
			if x.Upper = x.Diff; x.deviation > 0 {
				x.Upper += quantile(alpha, x.freedom) * x.deviation
			}
			if !x.Significant && x.Upper > in.upper {
				in.upper, in.upperOf = x.Upper, f.Name
			}
		}
		if f.Self.Significant || f.Cum.Significant {
			in.Functions = append(in.Functions, *f)
		}
	}
	only := func(f *Function) int { // what changed with what it calls alone
		if f.Self.Significant {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(in.Functions, func(a, b Function) int {
		return cmp.Or(cmp.Compare(only(&a), only(&b)), cmp.Compare(abs(b.Changed().Diff), abs(a.Changed().Diff)), strings.Compare(a.Name, b.Name))
	})
}
