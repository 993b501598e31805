package registers

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"kprof/convert/listing"
	"kprof/convert/samples"
	"kprof/convert/span"
	"kprof/convert/stacks"
	"kprof/perfevent/format"
)

// Access is an access to a register.
type Access struct {
	Time   uint64 // ns, when it began
	CPU    int32
	TID    int32
	Comm   string
	Addr   uint64 // virtual
	Write  bool
	Width  int    // bits, 0 where it is not told
	Caller string // place in the kernel: "gic_handle_irq+0xe8"
	Value  uint64 // that was written, or read, if HasValue
	Took   uint64 // ns, if Ended

	HasValue, Ended bool
}

// Register is how a caller accessed a register.
type Register struct {
	Addr   uint64
	Write  bool
	Width  int
	Caller string

	Count    uint64 // accesses, also those without an end
	Unended  uint64 // of Table.Unended
	Last     uint64 // value that was read or written last, if HasLast
	HasLast  bool
	Duration span.Histogram // ns, of those that ended
}

// Table is the accesses of a recording.
type Table struct {
	Registers []Register // those without an end first, then the most frequent
	// Unended are the accesses that had not ended with the recording, the latest first. Where
	// one interrupted another on its CPU both are here. Those whose ends may be lost are not.
	Unended []Access
	Last    [][]Access // of each CPU by its number, the last accesses in their order
	Broken  uint64     // begins or ends whose other side is not in the recording
	Lost    uint64     // events that the kernel lost
}

// Collector takes the events of a listing. The zero value is ready.
type Collector struct {
	// Recent is how many accesses of each CPU Table.Last keeps.
	Recent int

	leveled bool // events tell interrupts

	kinds map[*listing.Kind]*kind
	rows  map[key]*Register
	cpus  map[int32]*cpu
	tasks map[int32]int32 // the CPU on which a task's last access began, by its TID
	table Table
	text  []byte
}

// key is what accesses are told apart by.
type key struct {
	addr   uint64
	caller string
	width  int
	write  bool
}

// kind is the fields of one of the events.
type kind struct {
	ok          bool
	write, post bool

	addr, width, value, flags *format.Field
	caller                    *listing.Field
}

// cpu is what a CPU does.
type cpu struct {
	open   []open // that have begun, the latest last
	recent []Access
	seen   uint64
}

type open struct {
	Access
	row *Register
	at  uint64 // number of the access on its CPU

	level    int
	doubtful bool // its end may be lost
}

// over reports whether an access cannot go on where an event of a level and a task is: it is of
// the same kind of interrupt or one that this would have had to interrupt, or of the same task.
// Tasks preempt each other.
func (o *open) over(level int, tid int32) bool {
	return o.level > level || o.level == level && (level > 0 || o.TID == tid)
}

// drop removes accesses that are over, whose ends are not in the recording, from the i-th on.
func (c *Collector) drop(p *cpu, i int, over func(*open) bool) {
	kept := slices.DeleteFunc(p.open[i:], func(o open) bool { return over(&o) })
	c.table.Broken += uint64(len(p.open) - i - len(kept))
	p.open = p.open[:i+len(kept)]
}

// Bounds: accesses at once on a CPU, in interrupts in each other; CPUs.
const (
	maxOpen = 16
	maxCPUs = 1 << 14
)

// kind finds the fields of an event; those that are no accesses are not ok.
func (c *Collector) kind(k *listing.Kind) *kind {
	if x := c.kinds[k]; x != nil {
		return x
	}
	if c.kinds == nil {
		c.kinds, c.rows, c.cpus, c.tasks = map[*listing.Kind]*kind{}, map[key]*Register{}, map[int32]*cpu{}, map[int32]int32{}
	}
	x := &kind{}
	c.kinds[k] = x
	name, _, _ := strings.Cut(k.Name, "@") // of a buffer
	name, ok := strings.CutPrefix(name, "rwmmio:rwmmio_")
	if !ok || k.Format == nil {
		return x
	}
	access, post := strings.CutPrefix(name, "post_")
	x.post, x.write = post, access == "write"
	for i := range k.Fields {
		switch f := &k.Fields[i]; f.Name {
		case "addr":
			x.addr = f.Field
		case "width":
			x.width = f.Field
		case "val":
			x.value = f.Field
		case "caller":
			x.caller = f
		}
	}
	x.flags = k.Format.Field("common_flags")
	x.ok = x.addr != nil && (access == "read" || access == "write")
	return x
}

// Event takes an event; those that are no accesses are left out.
func (c *Collector) Event(e *listing.Event) error {
	k := c.kind(e.Kind)
	if !k.ok {
		return nil
	}
	addr, ok := k.addr.Uint(e.Sample.Raw)
	level := 0
	if k.flags != nil {
		flags, _ := k.flags.Uint(e.Sample.Raw)
		c.leveled = c.leveled || flags != 0
		level = format.InterruptLevel(flags)
	}
	p := c.cpus[e.Sample.CPU]
	if p == nil && len(c.cpus) < maxCPUs {
		p = &cpu{}
		c.cpus[e.Sample.CPU] = p
	}
	if !ok || p == nil {
		return nil
	}
	a := Access{Time: e.Sample.Time, CPU: e.Sample.CPU, TID: e.Sample.TID, Addr: addr, Write: k.write}
	if k.width != nil {
		w, _ := k.width.Uint(e.Sample.Raw)
		a.Width = int(uint8(w))
	}
	if k.value != nil {
		a.Value, a.HasValue = k.value.Uint(e.Sample.Raw)
		if a.Width > 0 && a.Width < 64 {
			a.Value &= 1<<a.Width - 1
		}
	}
	if k.post {
		c.end(p, &a, level)
		return nil
	}
	a.Comm = e.Comm
	if k.caller != nil {
		c.text = e.Kind.AppendValue(c.text[:0], k.caller, e.Sample.Raw)
	} else {
		c.text = c.text[:0]
	}
	c.begin(p, a, level)
	return nil
}

// begin takes the event before an access, whose caller is in c.text. What cannot go on meanwhile
// has ended; where the recording does not tell interrupts, what began at the same place.
func (c *Collector) begin(p *cpu, a Access, level int) {
	row := c.rows[key{a.Addr, string(c.text), a.Width, a.Write}] // which allocates nothing
	if row == nil {
		row = &Register{Addr: a.Addr, Write: a.Write, Width: a.Width, Caller: string(c.text)}
		c.rows[key{a.Addr, row.Caller, a.Width, a.Write}] = row
	}
	a.Caller = row.Caller
	row.Count++
	if c.leveled {
		c.drop(p, 0, func(o *open) bool { return o.over(level, a.TID) })
	} else if i := slices.IndexFunc(p.open, func(o open) bool { return o.row == row }); i >= 0 {
		c.drop(p, i, func(*open) bool { return true })
	}
	if level == 0 && a.TID > 0 { // the idle task is one on each CPU
		c.tasks[a.TID] = a.CPU
	}
	if a.Write && a.HasValue {
		row.Last, row.HasLast = a.Value, true
	}
	if len(p.open) >= maxOpen {
		c.table.Broken++
		p.open = append(p.open[:0], p.open[1:]...)
	}
	p.seen++
	p.open = append(p.open, open{a, row, p.seen, level, false})
	if c.Recent <= 0 {
		return
	}
	if len(p.recent) >= 2*c.Recent {
		p.recent = append(p.recent[:0], p.recent[len(p.recent)-c.Recent+1:]...)
	}
	p.recent = append(p.recent, a)
}

// end takes the event after an access: the latest like it has ended, and what began after
// that and cannot go on has no end in the recording. A task may have been preempted within an
// access, and go on on another CPU.
func (c *Collector) end(p *cpu, a *Access, level int) {
	i := c.begun(p, a, level)
	if from, ok := c.tasks[a.TID]; i < 0 && ok && level == 0 && from != a.CPU {
		p = c.cpus[from]
		i = c.begun(p, a, level)
	}
	if i < 0 {
		c.table.Broken++
		return
	}
	if c.leveled {
		c.drop(p, i+1, func(o *open) bool { return o.CPU == a.CPU && o.over(level, a.TID) })
	} else {
		c.drop(p, i+1, func(*open) bool { return true })
	}
	if p.open[i].doubtful {
		c.table.Broken++
		p.open = slices.Delete(p.open, i, i+1)
		return
	}
	b := &p.open[i]
	took := a.Time - min(b.Time, a.Time)
	b.row.Duration.Add(took)
	if !a.Write && a.HasValue {
		b.row.Last, b.row.HasLast = a.Value, true
	}
	if back := p.seen - b.at; back < uint64(len(p.recent)) {
		r := &p.recent[len(p.recent)-1-int(back)]
		r.Ended, r.Took = true, took
		if a.HasValue {
			r.Value, r.HasValue = a.Value, true
		}
	}
	p.open = slices.Delete(p.open, i, i+1)
}

// begun returns which of the open accesses of a CPU an end is of, -1 for none: the latest of its
// register, of the task if it is one of a task.
func (c *Collector) begun(p *cpu, a *Access, level int) int {
	for i := len(p.open) - 1; i >= 0; i-- {
		o := &p.open[i]
		if o.Addr == a.Addr && o.Write == a.Write && o.Width == a.Width && (!c.leveled || o.level == level && (level > 0 || o.TID == a.TID)) {
			return i
		}
	}
	return -1
}

// Lost notes a loss: the ends of what is open may be among it, and the events after it may be of
// others like them.
func (c *Collector) Lost(l samples.Loss) error {
	c.table.Lost += l.Count
	for n, p := range c.cpus {
		if l.CPU < 0 || l.CPU == n {
			for i := range p.open {
				p.open[i].doubtful = true
			}
		}
	}
	return nil
}

// Settle does nothing: no stacks are asked for.
func (c *Collector) Settle(*stacks.Set) error { return nil }

var _ listing.Consumer = (*Collector)(nil)

// Table returns what was collected, when all events were taken.
func (c *Collector) Table() *Table {
	t := c.table
	for _, r := range c.rows {
		r.Unended = 0
	}
	for _, n := range slices.Sorted(maps.Keys(c.cpus)) {
		p := c.cpus[n]
		for i := range p.open {
			if p.open[i].doubtful {
				t.Broken++
				continue
			}
			p.open[i].row.Unended++
			t.Unended = append(t.Unended, p.open[i].Access)
		}
		if n := len(p.recent); n > 0 {
			t.Last = append(t.Last, slices.Clone(p.recent[n-min(n, c.Recent):]))
		}
	}
	slices.SortStableFunc(t.Unended, func(a, b Access) int { return cmp.Compare(b.Time, a.Time) })
	for _, r := range c.rows {
		t.Registers = append(t.Registers, *r)
	}
	slices.SortFunc(t.Registers, func(a, b Register) int {
		return cmp.Or(cmp.Compare(b.Unended, a.Unended), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Addr, b.Addr),
			strings.Compare(a.Caller, b.Caller), cmp.Compare(a.Width, b.Width), strings.Compare(kindOf(a.Write, 0), kindOf(b.Write, 0)))
	})
	return &t
}
