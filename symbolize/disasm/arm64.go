package disasm

import (
	"encoding/binary"
	"fmt"
	"strings"

	"golang.org/x/arch/arm64/arm64asm"

	"kprof/perfevent/lazyregexp"
)

// immediate is the last number of an instruction of arm64.
var immediate = lazyregexp.New(`#(0x[0-9a-f]+|[0-9]+)(\]!?)?$`)

func decodeARM64(f *File, fn *function) (list []Instruction) {
	// pages are what adrp has put into registers: the next instruction with one has the
	// rest of the address.
	pages := make(map[string]uint64)
	for at := 0; at+4 <= len(fn.code); at += 4 {
		x := Instruction{Off: uint64(at)}
		word := binary.LittleEndian.Uint32(fn.code[at:]) // code is, whatever data is
		inst, err := arm64asm.Decode(fn.code[at:])
		if err != nil {
			x.Text = fmt.Sprintf(".word %#08x", word)
			x.Key = x.Text
			list = append(list, x)
			continue
		}
		x.Text = arm64asm.GNUSyntax(inst)
		x.Key = x.Text
		f.arm64(fn, inst, &x, pages)
		list = append(list, x)
	}
	return list
}

// arm64 puts symbols into an instruction.
func (f *File) arm64(fn *function, inst arm64asm.Inst, x *Instruction, pages map[string]uint64) {
	if t, ok := f.relocation(fn.off+x.Off, 4); ok {
		text, key := t.name, t.key()
		if t.addend != 0 {
			text = fmt.Sprintf("%s%+#x", t.name, t.addend)
			if !t.whole {
				key = fmt.Sprintf("%s%+#x", t.key(), t.addend)
			}
		}
		plain := immediate().ReplaceAllString(x.Text, "#·$2")
		for _, a := range inst.Args {
			if rel, ok := a.(arm64asm.PCRel); ok {
				plain = strings.ReplaceAll(plain, strings.ToLower(rel.String()), "·")
			}
		}
		x.Text, x.Key = plain+" // "+text, plain+" // "+key
		return
	}
	pc := fn.Start + x.Off
	for _, a := range inst.Args {
		rel, ok := a.(arm64asm.PCRel)
		if !ok {
			continue
		}
		addr := pc + uint64(rel)
		old := strings.ToLower(rel.String())
		if inst.Op == arm64asm.ADRP {
			addr = pc&^0xfff + uint64(rel)
			if reg, ok := inst.Args[0].(arm64asm.Reg); ok {
				pages[strings.ToLower(reg.String())] = addr
			}
			x.Text, x.Key = strings.ReplaceAll(x.Text, old, fmt.Sprintf("%#x", addr)), strings.ReplaceAll(x.Text, old, "·")
			return
		}
		text, key, ok := f.name(fn, addr)
		if !ok {
			text, key = fmt.Sprintf("%#x", addr), "·"
		}
		x.Text, x.Key = strings.ReplaceAll(x.Text, old, text), strings.ReplaceAll(x.Text, old, key)
		return
	}
	low := immediate().FindStringSubmatch(x.Text)
	for reg, page := range pages {
		if low == nil || !strings.Contains(x.Text, ", "+reg+",") && !strings.Contains(x.Text, "["+reg+",") {
			continue
		}
		var n uint64
		if _, err := fmt.Sscan(low[1], &n); err != nil {
			continue
		}
		delete(pages, reg)
		text, key, ok := f.name(fn, page+n)
		if !ok {
			text, key = fmt.Sprintf("%#x", page+n), "·"
		}
		x.Text, x.Key = x.Text+" // "+text, immediate().ReplaceAllString(x.Text, "#·$2")+" // "+key
		return
	}
}
