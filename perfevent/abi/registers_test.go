package abi

import (
	"slices"
	"strings"
	"testing"
)

// TestRegisterNames: as the kernel's headers number them, and as perf 6.1 lists them.
func TestRegisterNames(t *testing.T) {
	for _, c := range []struct {
		machine string
		mask    uint64
		want    string
	}{
		// perf record --user-regs=?
		{"x86_64", 0xff0fff, "AX BX CX DX SI DI BP SP IP FLAGS CS SS R8 R9 R10 R11 R12 R13 R14 R15"},
		{"i686", 0xfff, "AX BX CX DX SI DI BP SP IP FLAGS CS SS"},
		{"x86_64", 3<<32 | 3<<62, "XMM0 XMM0 XMM15 XMM15"},
		{"arm64", 1<<29 | 1<<30 | 1<<31 | 1<<32 | 1<<46, "x29 lr sp pc VG"},
		{"armv7l", 1<<10 | 1<<11 | 1<<13 | 1<<15, "r10 fp sp pc"},
		{"riscv64", 1 | 1<<9 | 1<<10 | 1<<18 | 1<<31, "pc s1 a0 s2 t6"},
		{"s390x", 1 | 1<<16 | 1<<33, "R0 FP0 PC"},
		{"ppc64le", 1<<31 | 1<<32 | 1<<36 | 1<<42, "r31 nip link dsisr"},
		{"ppc64", 1<<43 | 1<<44 | 1<<45 | 1<<50 | 1<<51 | 1<<56 | 1<<58, "sier mmcra mmcr0 sier3 pmc1 pmc6 siar"},
		{"ppc", 1<<1 | 1<<32, "r1 nip"},
		{"aarch64_be", 1<<0 | 1<<31, "x0 sp"},
		{"riscv32", 1 | 1<<2, "pc sp"},
		{"loongarch64", 1 | 1<<3 | 1<<31, "PC r3 r31"},
		{"mips64", 1 | 1<<25 | 1<<26 | 1<<28 | 1<<31, "PC r25 reg26 r28 r31"},
		{"sparc", 1 << 5, "reg5"},
		{"x86_64", 1 << 24, "reg24"},
		{"armv7l", 1<<15 | 1<<16, "pc reg16"},
	} {
		if got := RegisterNames(c.machine, c.mask); !slices.Equal(got, strings.Fields(c.want)) {
			t.Errorf("%s %#x: %q, want %s", c.machine, c.mask, got, c.want)
		}
	}
	for _, c := range []struct {
		machine, name string
		want          uint64
	}{{"amd64", "ax", 1}, {"amd64", "R15", 1 << 23}, {"arm64", "PC", 1 << 32}, {"amd64", "xmm1", 3 << 34}, {"amd64", "x0", 0}, {"arm64", "-", 0}} {
		if got := RegisterMask(c.machine, c.name); got != c.want {
			t.Errorf("%s %s: %#x, want %#x", c.machine, c.name, got, c.want)
		}
	}
}
