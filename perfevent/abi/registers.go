package abi

import (
	"math/bits"
	"strconv"
	"strings"
)

// registers are what the bits of register masks stand for, from the lowest on, by machine as
// uname -m calls it (arch/*/include/uapi/asm/perf_regs.h), in perf's spelling
// (tools/perf/util/perf-regs-arch), but without the % and $ that it has before some. A - stands
// for none.
var registers = map[string][]string{
	"x86_64": strings.Fields("AX BX CX DX SI DI BP SP IP FLAGS CS SS DS ES FS GS R8 R9 R10 R11 R12 R13 R14 R15" +
		strings.Repeat(" -", 8) + pairs("XMM", 16)),
	"aarch64": strings.Fields(numbered("x", 0, 30) + " lr sp pc" + strings.Repeat(" -", 13) + " VG"),
	"arm":     strings.Fields(numbered("r", 0, 11) + " fp ip sp lr pc"),
	"riscv":   strings.Fields("pc ra sp gp tp t0 t1 t2 s0 s1 " + numbered("a", 0, 8) + numbered("s", 2, 12) + numbered("t", 3, 7)),
	"s390x":   strings.Fields(numbered("R", 0, 16) + numbered("FP", 0, 16) + " MASK PC"),
	"ppc": strings.Fields(numbered("r", 0, 32) + " nip msr orig_r3 ctr link xer ccr softe trap dar dsisr sier mmcra" +
		" mmcr0 mmcr1 mmcr2 mmcr3 sier2 sier3" + numbered("pmc", 1, 7) + " sdar siar"),
	"loongarch": strings.Fields("PC" + numbered("r", 1, 32)),
	"mips":      strings.Fields("PC" + numbered("r", 1, 26) + " - -" + numbered("r", 28, 32)),
}

// numbered are the names of registers from one number to before another.
func numbered(name string, from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		b.WriteString(" " + name + strconv.Itoa(i))
	}
	return b.String()
}

// pairs are the names of n registers of 128 bits, of which each is two.
func pairs(name string, n int) string {
	var b strings.Builder
	for i := range n {
		part := " " + name + strconv.Itoa(i)
		b.WriteString(part + part)
	}
	return b.String()
}

// RegisterNames returns the names of the registers of a mask, Attr.SampleRegsUser or
// SampleRegsIntr, in the order in which samples have them. The machine is as uname -m or Go calls
// it. A register without a known name is called by its bit, as in "reg40".
func RegisterNames(machine string, mask uint64) []string {
	all := registers[canonicalMachine(machine)]
	names := make([]string, 0, bits.OnesCount64(mask))
	for bit := range 64 {
		switch {
		case mask>>bit&1 == 0:
		case bit < len(all) && all[bit] != "-":
			names = append(names, all[bit])
		default:
			names = append(names, "reg"+strconv.Itoa(bit))
		}
	}
	return names
}

// RegisterMask returns the bits of a register of a machine, in upper or lower case; 0 where it has
// none of that name.
func RegisterMask(machine, name string) (mask uint64) {
	for bit, n := range registers[canonicalMachine(machine)] {
		if n != "-" && strings.EqualFold(n, name) {
			mask |= 1 << bit
		}
	}
	return mask
}

// canonicalMachine is the key of registers for a machine.
func canonicalMachine(m string) string {
	switch {
	case m == "amd64" || m == "386" || len(m) == 4 && m[0] == 'i' && m[2:] == "86":
		return "x86_64" // whose first registers are those of 32 bits
	case m == "arm64" || m == "aarch64_be":
		return "aarch64"
	case m == "s390":
		return "s390x"
	}
	for _, family := range []string{"arm", "ppc", "riscv", "loongarch", "mips"} {
		if strings.HasPrefix(m, family) {
			return family
		}
	}
	return m
}
