// Package mapping says what a piece of an address space holds: a profile has its
// locations in mappings, and a Symbolizer finds the names there.
package mapping

import (
	"fmt"
	"strings"
)

// A Kind says what sort of code a mapping holds, and with it what tells its names.
type Kind uint8

const (
	Unknown    Kind = iota // nothing that has names: addresses that no mapping covers, vsyscall
	Kernel                 // the kernel's image: addresses, named by kallsyms
	Module                 // a kernel module: addresses, named by kallsyms
	BPF                    // one function that the kernel announced (a BPF program, a trampoline); File is its name
	User                   // a file: offsets in it, named by its symbols
	VDSO                   // the kernel's code in every process: offsets in it, named by this machine's
	Anon                   // memory without a file (JIT code, the stack, the heap): addresses, named by the process's perf map
	Guest                  // kernel or user code of a virtual machine
	Hypervisor             // code below the kernel
)

var kindNames = [...]string{"other", "kernel", "module", "symbol", "user", "vdso", "anon", "guest", "hypervisor"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// ByOffset reports whether code of a kind is told apart by its offset in the file, because
// processes map it at different addresses.
func (k Kind) ByOffset() bool { return k == User || k == VDSO }

// An ID tells files apart as the recorded kernel did.
type ID struct {
	Major, Minor      uint32 // of the device
	Inode, Generation uint64
}

// A Mapping is a file, or a piece of one, that code was executed from.
type Mapping struct {
	Start, Limit uint64 // run-time addresses, of the first process seen to map it; 0 if unknown
	Offset       uint64 // file offset of Start; of Kernel the run-time address of Symbol, 0 if unknown
	Symbol       string // of Kernel: "_text" or "_stext", "" if unknown
	File         string // as recorded: a path, "[kernel.kallsyms]", "[ext4]", "[vdso]", "//anon"
	BuildID      string // lower-case hex, "" if unknown
	Builds       string // of User without BuildID: those recorded of its path, with blanks between, where they are several
	Kind         Kind
	PID          int // a process that mapped it, 0 if unknown
	ID           ID  // of a file that has no BuildID in its mapping record; zero if unknown

	// What the names of its locations hold, once they have some.
	HasFunctions, HasFilenames, HasLineNumbers, HasInlineFrames bool
}

// deletedSuffix is what the kernel appends to the path of a file that has no
// name any more (fs/d_path.c).
const deletedSuffix = " (deleted)"

// Path is the File without the kernel's remark that it was removed.
func (m *Mapping) Path() string { return strings.TrimSuffix(m.File, deletedSuffix) }

// Deleted reports whether the file had been removed when it was recorded.
func (m *Mapping) Deleted() bool { return strings.HasSuffix(m.File, deletedSuffix) }

// Unnamed is what a frame in m is called when its function is not known: the
// last element of the file's path in brackets, as stackcollapse-perf.pl has it,
// or "[unknown]" where no file is known either.
func (m *Mapping) Unnamed() string {
	name := m.File[strings.LastIndexByte(m.File, '/')+1:]
	if name == "" {
		return "[unknown]"
	}
	return "[" + name + "]"
}
