package listing

import (
	"strings"

	"kprof/perfevent/abi"
	"kprof/perfevent/datasrc"
)

// atEnd are the columns that text has behind all else, and beyondRow those that are not of a row.
const (
	atEnd     = IRegs | URegs | PhysAddr | DataPageSize | CodePageSize
	beyondRow = DataSrc | Weight | InsLat | RetireLat | atEnd
)

// dump is the registers that a sample has.
type dump struct {
	column string
	names  []string
	abi    uint64
	regs   []uint64
}

// dump is one of those that an event has, IRegs or URegs; false for a task without registers.
func (k *Kind) dump(c Columns, e *Event) (d dump, ok bool) {
	s, a := e.Sample, &k.Event.Attr
	switch c {
	case IRegs:
		d = dump{"iregs", k.registers(s.IntrRegs, a.SampleRegsIntr), s.IntrABI, s.IntrRegs}
	case URegs:
		d = dump{"uregs", k.registers(s.UserRegs, a.SampleRegsUser), s.UserABI, s.UserRegs}
	}
	return d, len(d.regs) > 0
}

// registers are the names of registers of a mask.
func (k *Kind) registers(regs []uint64, mask uint64) []string {
	if k.names == nil {
		k.names = map[uint64][]string{}
	}
	names, ok := k.names[mask]
	if !ok {
		names = abi.RegisterNames(k.code.lister.from.features.Arch, mask)
		k.names[mask] = names
	}
	return names[:min(len(names), len(regs))]
}

// appendMore appends what stands behind all else in text (tools/perf/builtin-script.c,
// perf_sample__fprintf_regs).
func (k *shown) appendMore(dst []byte, e *Event) []byte {
	for _, c := range [...]Columns{IRegs, URegs} {
		d, ok := k.kind.dump(k.columns&c, e)
		if !ok {
			continue
		}
		dst = append(appendDigits(append(dst, " ABI:"...), d.abi, 1, ' '), ' ')
		for i, name := range d.names {
			dst = appendBlanks(dst, 5-len(name))
			dst = append(appendHex(append(append(dst, name...), ":0x"...), d.regs[i], 0), ' ')
		}
	}
	if k.columns&PhysAddr != 0 {
		dst = appendHex(dst, e.Sample.PhysAddr, 16)
	}
	if k.columns&DataPageSize != 0 {
		dst = datasrc.AppendPageSize(append(dst, ' '), e.Sample.DataPageSize)
	}
	if k.columns&CodePageSize != 0 {
		dst = datasrc.AppendPageSize(append(dst, ' '), e.Sample.CodePageSize)
	}
	return dst
}

// appendJSON appends the registers as an object of addresses.
func (d *dump) appendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	for i, name := range d.names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendJSON(dst, strings.ToLower(name)), ':')
		dst = appendAddress(dst, d.regs[i])
	}
	return append(dst, '}')
}

// appendFields appends the registers as name=value.
func (d *dump) appendFields(dst []byte) []byte {
	for i, name := range d.names {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = appendHex(append(append(dst, strings.ToLower(name)...), "=0x"...), d.regs[i], 0)
	}
	return dst
}
