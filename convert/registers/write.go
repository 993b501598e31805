package registers

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"kprof/convert/printable"
)

// WriteOptions say how a Table is written. The zero value writes all of it, by address.
type WriteOptions struct {
	Regions *Regions // nil for none
	Limit   int      // registers, 0 for all
}

// name is the register at an address.
func (o *WriteOptions) name(addr uint64) string {
	if o.Regions == nil {
		return fmt.Sprintf("0x%x", addr)
	}
	return o.Regions.Name(addr)
}

// kindOf is what an access was: "R32", "W8".
func kindOf(write bool, width int) string {
	s := "R"
	if write {
		s = "W"
	}
	if width > 0 {
		s += strconv.Itoa(width)
	}
	return s
}

func duration(ns uint64) string { return printable.Value(int64(min(ns, 1<<62)), "nanoseconds") }

// Text writes a table as text: what has no end, the registers, and the last accesses of the
// CPUs. Each register is a line "gic+0x00c R32 n=171 last=0x3ff gic_handle_irq+0xe8" behind how
// long its accesses took.
func Text(w io.Writer, t *Table, o WriteOptions) error {
	out := printer{w: printable.NewWriter(w), opts: o}
	if len(t.Unended) > 0 {
		out.printf("Without an end, the last first:\n")
		for i := range t.Unended {
			out.access(&t.Unended[i])
		}
		out.printf("\n")
	}
	out.printf("%9s %9s %9s %9s  register\n", "total", "p50", "p99", "max")
	for i := range t.Registers {
		if o.Limit > 0 && i == o.Limit {
			out.printf("(%d more)\n", len(t.Registers)-i)
			break
		}
		out.register(&t.Registers[i])
	}
	if t.Broken > 0 {
		out.printf("(%d without an event before or after them in the recording)\n", t.Broken)
	}
	if len(t.Last) > 0 {
		out.printf("\nThe last accesses of each CPU:\n")
	}
	for _, last := range t.Last {
		for i := range last {
			out.access(&last[i])
		}
	}
	return out.err
}

type printer struct {
	w    io.Writer
	opts WriteOptions
	err  error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *printer) register(r *Register) {
	d := &r.Duration
	if d.Count > 0 {
		p.printf("%9s %9s %9s %9s", duration(d.Sum), duration(d.Quantile(0.5)), duration(d.Quantile(0.99)), duration(d.Max))
	} else {
		p.printf("%9s %9s %9s %9s", "-", "-", "-", "-")
	}
	p.printf("  %s %s n=%d", p.opts.name(r.Addr), kindOf(r.Write, r.Width), r.Count)
	if r.HasLast {
		p.printf(" last=0x%x", r.Last)
	}
	if r.Caller != "" {
		p.printf(" %s", r.Caller)
	}
	if r.Unended > 0 {
		p.printf(" unended=%d", r.Unended)
	}
	p.printf("\n")
}

func (p *printer) access(a *Access) {
	p.printf("  [%03d] %d.%06d: ", a.CPU, a.Time/1e9, a.Time%1e9/1e3)
	if a.Comm != "" || a.TID >= 0 {
		p.printf("%s/%d ", a.Comm, a.TID)
	}
	p.printf("%s %s", p.opts.name(a.Addr), kindOf(a.Write, a.Width))
	if a.HasValue {
		p.printf(" val=0x%x", a.Value)
	}
	if a.Caller != "" {
		p.printf(" %s", a.Caller)
	}
	if a.Ended {
		p.printf(" %s\n", duration(a.Took))
	} else {
		p.printf(" unended\n")
	}
}

// jsonAccess is an Access; times are in ns, addresses and values text, since numbers of JSON
// lose digits.
type jsonAccess struct {
	Register string `json:"register"`
	Address  string `json:"address"`
	Access   string `json:"access"`
	Caller   string `json:"caller,omitempty"`
	Value    string `json:"value,omitempty"`
	Time     uint64 `json:"time"`
	CPU      int32  `json:"cpu"`
	TID      int32  `json:"tid"`
	Comm     string `json:"comm,omitempty"`
	Took     uint64 `json:"took"`
	Ended    bool   `json:"ended"`
}

type jsonRegister struct {
	Register string `json:"register"`
	Address  string `json:"address"`
	Access   string `json:"access"`
	Caller   string `json:"caller,omitempty"`
	Count    uint64 `json:"count"`
	Unended  uint64 `json:"unended"`
	Last     string `json:"last,omitempty"`
	Total    uint64 `json:"total"`
	P50      uint64 `json:"p50"`
	P90      uint64 `json:"p90"`
	P99      uint64 `json:"p99"`
	Max      uint64 `json:"max"`
}

// JSON writes a table as an object of registers, of accesses unended, and of the last ones of
// each CPU; with the numbers of events that the kernel lost, and of those broken.
func JSON(w io.Writer, t *Table, o WriteOptions) error {
	text := func(v uint64, has bool) string {
		if !has {
			return ""
		}
		return fmt.Sprintf("0x%x", v)
	}
	accesses := func(all []Access) []jsonAccess {
		list := make([]jsonAccess, 0, len(all))
		for i := range all {
			a := &all[i]
			list = append(list, jsonAccess{
				o.name(a.Addr), text(a.Addr, true), kindOf(a.Write, a.Width), a.Caller, text(a.Value, a.HasValue),
				a.Time, a.CPU, a.TID, a.Comm, a.Took, a.Ended,
			})
		}
		return list
	}
	out := struct {
		Unended   []jsonAccess   `json:"unended"`
		Registers []jsonRegister `json:"registers"`
		Last      [][]jsonAccess `json:"last"`
		Lost      uint64         `json:"lost"`
		Broken    uint64         `json:"broken"`
	}{Unended: accesses(t.Unended), Lost: t.Lost, Broken: t.Broken, Registers: []jsonRegister{}, Last: [][]jsonAccess{}}
	for i := range t.Registers {
		if o.Limit > 0 && i == o.Limit {
			break
		}
		r := &t.Registers[i]
		d := &r.Duration
		out.Registers = append(out.Registers, jsonRegister{
			o.name(r.Addr), text(r.Addr, true), kindOf(r.Write, r.Width), r.Caller, r.Count, r.Unended, text(r.Last, r.HasLast),
			d.Sum, d.Quantile(0.5), d.Quantile(0.9), d.Quantile(0.99), d.Max,
		})
	}
	for _, last := range t.Last {
		out.Last = append(out.Last, accesses(last))
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}
