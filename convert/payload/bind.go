package payload

import (
	"maps"
	"slices"

	"kprof/perfevent/abi"
	"kprof/perfevent/datasrc"
	"kprof/perfevent/format"
	"kprof/perfevent/format/expr"
	"kprof/perfevent/perfdata"
)

// Bound is an expression over the events of a recording, each of which has its own
// Program. It is not for several goroutines at once.
type Bound struct {
	Expr *expr.Expr

	formats  *Formats
	programs []bound // by index of event
}

type bound struct {
	program *expr.Program
	err     error
	done    bool
}

// Bind makes an expression ready for events with these formats.
func (f *Formats) Bind(x *expr.Expr) *Bound { return &Bound{Expr: x, formats: f} }

// Of returns the expression over an event, compiled when it is first asked for. An error
// is an *expr.Error, text where a number must stand, or a *format.SyntaxError; the
// program is nil then.
func (b *Bound) Of(e *perfdata.Event) (*expr.Program, error) {
	if e.Index < len(b.programs) && b.programs[e.Index].done {
		return b.programs[e.Index].program, b.programs[e.Index].err
	}
	for len(b.programs) <= e.Index {
		b.programs = append(b.programs, bound{})
	}
	p := &b.programs[e.Index]
	p.done = true
	f, err := b.formats.Of(&e.Attr)
	if err != nil {
		p.err = err
		return nil, err
	}
	p.program, p.err = b.Expr.CompileFor(EventName(e.Name, f), f, b.formats.optional(&e.Attr))
	return p.program, p.err
}

// Format returns the format of an event, as Formats.Of does.
func (b *Bound) Format(e *perfdata.Event) (*format.Format, error) { return b.formats.Of(&e.Attr) }

// Check compiles the expression for events, and returns the first error that there is;
// an *expr.Error also where a name of the expression is in none of them.
func (b *Bound) Check(events []*perfdata.Event) error {
	var programs []*expr.Program
	for _, e := range events {
		p, err := b.Of(e)
		if err != nil {
			return err
		}
		programs = append(programs, p)
	}
	return b.Expr.Check(programs, b.formats.FieldNames(events))
}

// optional says what samples of an event have that those of others have not.
func (f *Formats) optional(a *abi.Attr) (has expr.Optional) {
	for _, o := range []struct {
		bits abi.SampleType
		own  expr.Own
	}{
		{abi.SampleAddr, expr.OwnAddr}, {abi.SamplePhysAddr, expr.OwnPhysAddr}, {abi.SampleWeight | abi.SampleWeightStruct, expr.OwnWeight},
		{abi.SampleWeightStruct, expr.OwnInsLat | expr.OwnRetireLat}, {abi.SampleDataSrc, expr.OwnDataSrc},
		{abi.SampleDataPageSize, expr.OwnDataPageSize}, {abi.SampleCodePageSize, expr.OwnCodePageSize},
	} {
		if a.SampleType&o.bits != 0 {
			has.Own |= o.own
		}
	}
	if a.SampleType&abi.SampleRegsUser != 0 {
		has.UserRegs = abi.RegisterNames(f.Arch, a.SampleRegsUser)
	}
	if a.SampleType&abi.SampleRegsIntr != 0 {
		has.IntrRegs = abi.RegisterNames(f.Arch, a.SampleRegsIntr)
	}
	return has
}

// Own are the names of what every sample has.
var Own = []string{"comm", "pid", "tid", "cpu", "time", "event"}

// FieldNames are the names that expressions over events can have, sorted: their own
// fields, the common ones, Own, and what else their samples have. Formats that cannot be read have none.
func (f *Formats) FieldNames(events []*perfdata.Event) []string {
	names := map[string]bool{}
	for _, n := range Own {
		names[n] = true
	}
	for _, e := range events {
		if of, _ := f.Of(&e.Attr); of != nil {
			for i := range of.Fields {
				names[of.Fields[i].Name] = true
			}
		}
		has := f.optional(&e.Attr)
		for _, name := range has.Names() {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Own returns the expression that is a name of what samples of an event have beside its fields, such
// as a register, addr, weight or mem_lvl, which is text. It is nil where the name is another's, or nobody's.
func (f *Formats) Own(e *perfdata.Event, name string) *expr.Program {
	has := f.optional(&e.Attr)
	if has.Own == 0 && len(has.UserRegs)+len(has.IntrRegs) == 0 {
		return nil
	}
	x, err := expr.Parse(name)
	if err != nil {
		return nil
	}
	of, _ := f.Of(&e.Attr)
	p, err := x.CompileText(EventName(e.Name, of), of, has)
	if err != nil || !p.Optional() {
		return nil
	}
	return p
}

// LabelNames are OwnFields and what else samples have, sorted.
func (f *Formats) LabelNames(events []*perfdata.Event) []string {
	names := f.OwnFields(events)
	for _, e := range events {
		has := f.optional(&e.Attr)
		names = append(names, has.Names()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// OwnFields are the names of the fields that events do not have in common, sorted.
func (f *Formats) OwnFields(events []*perfdata.Event) []string {
	names := map[string]bool{}
	for _, e := range events {
		if of, _ := f.Of(&e.Attr); of != nil {
			for _, field := range of.Own() {
				names[field.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// Fill makes x the sample s of an event with the attribute a, which both are used until
// the next one. The caller sets x.Comm.
func Fill(x *expr.Sample, s *abi.Sample, a *abi.Attr) {
	x.PID, x.TID, x.CPU, x.Time, x.Raw = s.PID, s.TID, uint32(s.CPU), s.Time, s.Raw
	x.Addr, x.PhysAddr, x.DataSrc = s.Addr, s.PhysAddr, datasrc.Source(s.DataSrc)
	x.DataPageSize, x.CodePageSize = s.DataPageSize, s.CodePageSize
	x.Weight, x.InsLat, x.RetireLat = datasrc.Costs(s.Weight, a.SampleType&abi.SampleWeightStruct != 0)
	x.UserRegs, x.IntrRegs = s.UserRegs, s.IntrRegs
	x.Without = 0
	if a.SampleType&abi.SampleTID == 0 {
		x.Without |= expr.OwnPID | expr.OwnTID | expr.OwnComm
	}
	if s.CPU < 0 {
		x.Without |= expr.OwnCPU
	}
	if a.SampleType&abi.SampleTime == 0 {
		x.Without |= expr.OwnTime
	}
}
