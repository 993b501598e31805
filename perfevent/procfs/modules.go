package procfs

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A Module is a line of /proc/modules, such as
// "fuse 176128 1 - Live 0xffffffffc0000000 (OE)" (kernel/module/procfs.c, m_show).
type Module struct {
	Name string
	Size uint64 // bytes
	Addr uint64 // where it begins; 0 where the kernel hides it (kernel.kptr_restrict)
}

// ReadModules reads the text of /proc/modules. A line that cannot be read is left out
// and the first of them reported as a *FormatError, beside all others; likewise an
// error of r, beside what was read before it.
func ReadModules(r io.Reader) ([]Module, error) {
	var (
		modules []Module
		first   error
		offset  int64
	)
	br := bufio.NewReaderSize(r, 4096)
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
			return modules, first
		}
		if err != nil {
			return modules, fmt.Errorf("at byte %d: %w", offset, err)
		}
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
