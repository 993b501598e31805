package event

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"strings"

	"kprof/perfevent/internal/errkind"
	"kprof/perfevent/x86"
)

// checkGoReturn refuses a return probe of a function of Go, which is at an offset of the file e
// that f reads. The kernel puts an address of its own in the place of that of the caller, and
// when the runtime looks at the stack, as to move it, it ends the program: "unexpected return
// pc". Where the function returns it can be probed as any other instruction.
func checkGoReturn(e *elf.File, f io.ReaderAt, p Probe, fn elf.Symbol, off uint64) error {
	if !isGo(e, fn.Value) {
		return nil
	}
	text := fmt.Sprintf("%s is of Go, whose runtime ends a program in which it finds a return probe", fn.Name)
	code := make([]byte, min(fn.Size, 1<<20))
	n, _ := f.ReadAt(code, int64(off))
	const most = 8
	returns := returnsOf(e.Machine, code[:n])
	if len(returns) == 0 || len(returns) > most {
		return errkind.Errorf(os.ErrInvalid, "%s: probe its instructions that return, as uprobe:%s:0xOFF", text, p.Path)
	}
	var each []string
	for _, at := range returns {
		each = append(each, fmt.Sprintf("uprobe:%s:%#x", p.Path, off+at))
	}
	return errkind.Errorf(os.ErrInvalid, "%s: probe where it returns: -e %s", text, strings.Join(each, ","))
}

// isGo reports whether the code at an address is Go's: that of other languages in a program
// of Go is not between these symbols, where it has any.
func isGo(e *elf.File, addr uint64) bool {
	if e.Section(".gopclntab") == nil && e.Section(".data.rel.ro.gopclntab") == nil {
		return false
	}
	symtab, err := e.Symbols()
	if err != nil {
		return true
	}
	var start, end uint64
	for i := range symtab {
		switch symtab[i].Name {
		case "runtime.text":
			start = symtab[i].Value
		case "runtime.etext":
			end = symtab[i].Value
		}
	}
	return end == 0 || addr-start < end-start
}

// returnsOf are the offsets of the instructions in the code of a function that return from it;
// none where the code cannot be decoded.
func returnsOf(machine elf.Machine, code []byte) (offsets []uint64) {
	switch machine {
	case elf.EM_X86_64:
		for at := 0; at < len(code); {
			inst, ok := x86.Decode(code[at:], 64)
			if !ok {
				return nil
			}
			if op := code[at]; op == 0xc3 || op == 0xc2 {
				offsets = append(offsets, uint64(at))
			}
			at += inst.Len
		}
	case elf.EM_AARCH64:
		const ret = 0xd65f03c0 // to x30
		for at := 0; at+4 <= len(code); at += 4 {
			if binary.LittleEndian.Uint32(code[at:]) == ret {
				offsets = append(offsets, uint64(at))
			}
		}
	}
	return offsets
}
