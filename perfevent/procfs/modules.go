package procfs

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"kprof/perfevent/textlimit"
)

// A Module is a line of /proc/modules, such as
// "fuse 176128 1 - Live 0xffffffffc0000000 (OE)" (kernel/module/procfs.c, m_show).
type Module struct {
	Name string
	Size uint64 // bytes, of text and data together
	Addr uint64 // where its text begins; 0 where the kernel hides it (kernel.kptr_restrict)

	// TextSize is what of Size the text can be: it ends where the next module begins. Since
	// Linux 6.4 text and data lie apart (include/linux/module.h, struct module_memory), so that
	// Size bytes from Addr on may reach into the text of others.
	TextSize uint64
}

// ReadModules reads the text of /proc/modules. A line that cannot be read is left out
// and the first of them reported as a *FormatError, beside all others; likewise an
// error of r, or a line of more than textlimit.MaxLine, beside what was read before it.
func ReadModules(r io.Reader) ([]Module, error) {
	var (
		modules []Module
		first   error
		offset  int64
	)
	br := bufio.NewReaderSize(textlimit.NewReader(r), 4096)
	for {
		line, err := readLine(br)
		if line.size > 0 {
			if m, ok := parseModule(line.text); ok {
				modules = append(modules, m)
			} else if first == nil {
				first = &FormatError{File: "modules", Offset: offset}
			}
			offset += line.size
		}
		if err == io.EOF {
			setTextSizes(modules)
			return modules, first
		}
		if err != nil {
			setTextSizes(modules)
			return modules, fmt.Errorf("at byte %d: %w", offset, err)
		}
	}
}

// setTextSizes sets TextSize of all modules that there are.
func setTextSizes(modules []Module) {
	byAddr := make([]*Module, len(modules))
	for i := range modules {
		byAddr[i] = &modules[i]
	}
	slices.SortFunc(byAddr, func(a, b *Module) int { return cmp.Compare(a.Addr, b.Addr) })
	next, end := uint64(math.MaxUint64), uint64(math.MaxUint64) // the module behind, and where the text must have ended
	for _, m := range slices.Backward(byAddr) {
		if m.Addr != next { // those that are hidden are all at 0
			end = next
		}
		m.TextSize, next = min(m.Size, end-m.Addr), m.Addr
	}
}

// maxModuleLine bounds a line: it names all users of a module.
const maxModuleLine = 1 << 20

// A textLine is a line of which only so much is kept as it may be long.
type textLine struct {
	text string
	size int64
}

func readLine(br *bufio.Reader) (line textLine, err error) {
	var b []byte
	for {
		part, err := br.ReadSlice('\n')
		line.size += int64(len(part))
		if len(b)+len(part) <= maxModuleLine {
			b = append(b, part...)
		}
		if err != bufio.ErrBufferFull {
			if int64(len(b)) == line.size {
				line.text = string(b)
			}
			return line, err
		}
	}
}

// parseModule reads name, size, uses, users, state, address, and perhaps taints.
func parseModule(line string) (m Module, ok bool) {
	f := strings.Fields(line)
	if len(f) < 6 {
		return m, false
	}
	size, err1 := strconv.ParseUint(f[1], 10, 64)
	addr, err2 := strconv.ParseUint(f[5], 0, 64)
	return Module{Name: f[0], Size: size, Addr: addr}, err1 == nil && err2 == nil
}
