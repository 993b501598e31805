package event

import (
	"debug/elf"
	"fmt"
	"os"
	"runtime"
	"strings"

	"kprof/perfevent/internal/errkind"
	"kprof/perfevent/spelling"
	"kprof/perfevent/x86"
)

// checkKernelProbe refuses, in words, what the kernel would refuse with a bare
// errno, and what it takes although it cannot be meant: one of several functions
// of a name (before Linux 6.6), and on arm64 an offset behind the function's end.
// It returns what the user should know of a probe that is good. Where functions
// or addresses cannot be read the kernel has the only word.
func (r *Resolver) checkKernelProbe(p Probe) (notes []string, err error) {
	if err := checkReturn(p); err != nil {
		return nil, err
	}
	funcs, err := r.kernelFuncs()
	if err != nil || len(funcs) == 0 {
		return nil, nil
	}
	if p.Symbol == "" {
		return nil, r.checkKernelAddr(funcs, p)
	}
	found := funcs.named(p.Symbol, p.Module)
	variants := funcs.variants(p.Symbol)
	switch {
	case len(found) == 0:
		return nil, r.unknownFunction(funcs, p, variants)
	case len(found) > 1:
		return nil, severalFunctions(p, found)
	}
	if len(variants) > 0 {
		notes = append(notes, fmt.Sprintf("the compiler made more of %s, which this probe does not see: %s", p.Symbol, spellings(variants)))
	}
	f := found[0]
	if f.addr == 0 || f.size == 0 {
		return notes, nil
	}
	if p.Off >= f.size {
		return nil, errkind.Errorf(os.ErrInvalid, "offset %#x is outside %s, which has %#x bytes", p.Off, f.name, f.size)
	}
	return notes, checkBoundary(f, p.Off)
}

// checkReturn refuses a return probe where the return address, which it replaces, need not be on
// top of the stack: behind a function's entry, and in what a compiler split off one.
func checkReturn(p Probe) error {
	switch {
	case p.Return && p.Off != 0:
		return errkind.Errorf(os.ErrInvalid, "a return probe stands at a function's entry: leave out +%#x", p.Off)
	case p.Return && isColdPart(p.Symbol):
		return errkind.Errorf(os.ErrInvalid, "%s is a part of a function that is jumped to, not called: it has no return of its own", p.Symbol)
	}
	return nil
}

func (r *Resolver) checkKernelAddr(funcs kernelFuncs, p Probe) error {
	if funcs[len(funcs)-1].addr == 0 {
		return nil // addresses are hidden
	}
	f, ok := funcs.at(p.Addr)
	if !ok {
		return errkind.Errorf(os.ErrInvalid, "no function lies at %#x", p.Addr)
	}
	off := p.Addr - f.addr
	if p.Return && off != 0 {
		return errkind.Errorf(os.ErrInvalid, "a return probe stands at a function's entry: %#x is %s+%#x, which begins at %#x", p.Addr, f.name, off, f.addr)
	}
	return checkBoundary(f, off)
}

func (r *Resolver) unknownFunction(funcs kernelFuncs, p Probe, variants []kernelFunc) error {
	what := p.Symbol
	if p.Module != "" {
		if err := r.absentModule(funcs, p.Module); err != nil {
			return err
		}
		what = p.Module + ":" + p.Symbol
	}
	if len(variants) > 0 {
		return fmt.Errorf("%s: %w: the compiler made others of it: probe %s", what, errUnknownFunction, spellings(variants))
	}
	if now := funcs.laterName(p.Symbol); now != "" {
		return fmt.Errorf("%s: %w; it is called %s now", what, errUnknownFunction, now)
	}
	if near := funcs.near(p.Symbol); len(near) > 0 {
		return fmt.Errorf("%s: %w%s", what, errUnknownFunction, spelling.Question(near))
	}
	return fmt.Errorf("%s: %w; the compiler may have inlined it", what, errUnknownFunction)
}

// severalFunctions offers a spelling for each of several functions of one name.
func severalFunctions(p Probe, found []kernelFunc) error {
	kind := "kprobe:"
	if p.Return {
		kind = "kretprobe:"
	}
	var each []string
	for _, f := range found {
		spelling := fmt.Sprintf("%s%#x", kind, f.addr+p.Off)
		if f.addr == 0 {
			spelling = f.spec()
		}
		if f.module != "" {
			spelling += " in module " + f.module
		}
		each = append(each, spelling)
	}
	return errkind.Errorf(os.ErrInvalid, "%d functions are called %s; probe one by its address: %s", len(found), p.Symbol, strings.Join(each, ", "))
}

func spellings(funcs []kernelFunc) string {
	const most = 8
	var each []string
	for _, f := range funcs[:min(len(funcs), most)] {
		each = append(each, f.spec())
	}
	if len(funcs) > most {
		each = append(each, fmt.Sprintf("and %d more", len(funcs)-most))
	}
	return strings.Join(each, ", ")
}

// checkBoundary refuses an offset inside an instruction. On x86 that means
// decoding the function from its start, as the kernel itself does (arch/x86/
// kernel/kprobes/core.c, can_probe); code that cannot be read or decoded is left
// to the kernel.
func checkBoundary(f kernelFunc, off uint64) error {
	if off == 0 {
		return nil
	}
	if runtime.GOARCH == "arm64" {
		if off%4 != 0 {
			return insideInstruction(f.name, off, off&^3, off&^3+4)
		}
		return nil
	}
	code, err := kernelCode(f.addr, min(f.size, off+16))
	if err != nil {
		return nil
	}
	before, after, ok := boundaries(code, 64, off)
	if !ok || after == off {
		return nil
	}
	return insideInstruction(f.name, off, before, after)
}

func insideInstruction(name string, off, before, after uint64) error {
	return errkind.Errorf(os.ErrInvalid, "offset %#x is inside an instruction of %s, which lies between %#x and %#x", off, name, before, after)
}

// boundaries decodes x86 code of 32 or 64 bits up to the first instruction that begins at off or
// behind it, and returns where that one and the one before begin. ok is false
// for code that the decoder does not know.
func boundaries(code []byte, bits int, off uint64) (before, after uint64, ok bool) {
	for after < off {
		before = after
		inst, ok := x86.Decode(code[after:], bits)
		if !ok {
			return 0, 0, false
		}
		after += uint64(inst.Len)
	}
	return before, after, true
}

// kernelCode reads the running kernel's code, which needs CAP_SYS_RAWIO.
func kernelCode(addr, size uint64) ([]byte, error) {
	f, err := elf.Open("/proc/kcore")
	if err != nil {
		return nil, err
	}
	defer f.Close() // read only: nothing to lose
	for _, seg := range f.Progs {
		if seg.Type == elf.PT_LOAD && addr-seg.Vaddr < seg.Memsz {
			code := make([]byte, min(size, 1<<20))
			_, err := seg.ReadAt(code, int64(addr-seg.Vaddr))
			return code, err
		}
	}
	return nil, errkind.Errorf(os.ErrNotExist, "/proc/kcore has nothing at %#x", addr)
}
