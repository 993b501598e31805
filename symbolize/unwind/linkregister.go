package unwind

import "math/bits"

// LinkRegister returns where the link register is in dumps that have the registers in mask, -1
// where they lack it, or machines of m have none.
func (m Machine) LinkRegister(mask uint64) int {
	const link = 1 << armLR // it has this number in the kernel's dumps too
	if m != ARM64 || mask&link == 0 {
		return -1
	}
	return bits.OnesCount64(mask & (link - 1))
}

// LeafCaller returns where the function that was interrupted at pc returns to, if call frame
// information says that the link register has it, as it does in a function without a frame.
func (m Machine) LeafCaller(pc, link uint64, f Finder) (ret uint64, ok bool) {
	t, off, mapped := f.Find(pc)
	if m != ARM64 || !mapped || t == nil {
		return 0, false
	}
	row := t.row(off)
	if row == nil || row.signal || row.ra != armLR {
		return 0, false
	}
	for i := range row.regs {
		if row.regs[i].reg == armLR { // on the stack by now, or nowhere
			return 0, false
		}
	}
	ret = registersOf(m).returns(link, f)
	_, _, mapped = f.Find(ret - 1)
	return ret, mapped
}

// returns makes an address of one that a call returns to, as it was saved. On AArch64 it may be signed
// (pointer authentication), in the bits from those of addresses up to 54 (Linux 6.1,
// arch/arm64/include/asm/compiler.h, ptrauth_user_pac_mask). How many bits addresses have is up to the kernel
// (CONFIG_ARM64_VA_BITS), and no recording says it: 48, or the most at which something is mapped.
func (r special) returns(saved uint64, f Finder) uint64 {
	ret := saved & r.strip
	if r.pc != noRegister || leads(f, ret) {
		return ret
	}
	for _, bits := range [...]uint8{47, 42, 39, 36} {
		if addr := ret & (1<<bits - 1); addr != 0 && leads(f, addr) {
			return addr
		}
	}
	return ret
}
