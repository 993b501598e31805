package kallsyms

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
)

// ErrRestricted reports kernel symbols whose addresses the kernel hides: every
// one of them reads as zero.
var ErrRestricted = errors.New("kernel addresses are hidden (all zero): " +
	"needs CAP_SYSLOG with kernel.kptr_restrict at most 1, or kptr_restrict 0 with kernel.perf_event_paranoid at most 1")

// ErrEmpty reports input without a single function symbol.
var ErrEmpty = errors.New("no kernel function symbols")

// A FormatError reports a line that is not "address type name [module]".
type FormatError struct {
	Offset int64 // byte offset of the line in the input
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("malformed kallsyms line at byte %d", e.Offset)
}

const (
	bufferSize = 1 << 16
	maxName    = math.MaxUint16 // KSYM_NAME_LEN is 512
	maxModules = math.MaxUint16
	maxArena   = math.MaxUint32
)

var errTooLarge = errors.New("kernel symbol names exceed 4 GiB")

// Parse reads kallsyms text: one "address type name" a line, followed by a tab
// and "[module]" for what is not the kernel's own, in any order.
//
// Hidden addresses are ErrRestricted, input without function symbols is
// ErrEmpty; both come without a Table. A line that cannot be read is left out
// and the first of them reported as a *FormatError, together with the Table of
// all others; likewise an error of r, with what was read before it.
func Parse(r io.Reader) (*Table, error) {
	p := newParser()
	return p.finish(p.read(r))
}

// New returns the Table of the kernel's own symbols, given as Parse finds them
// in kallsyms text: address, type, name. Errors are those of Parse.
func New(symbols iter.Seq[RawSymbol]) (*Table, error) {
	p := newParser()
	for s := range symbols {
		if len(s.Name) == 0 || len(s.Name) > maxName {
			continue
		}
		if len(p.names) > maxArena-maxName {
			return p.finish(errTooLarge)
		}
		p.add(s.Addr, s.Type, 0, []byte(s.Name))
	}
	return p.finish(nil)
}

// RawSymbol is a symbol as nm prints it.
type RawSymbol struct {
	Addr uint64
	Type byte
	Name string
}

func newParser() *parser {
	return &parser{modules: []string{""}, moduleIDs: map[string]uint16{}}
}

// finish makes the table, err having ended its input.
func (p *parser) finish(err error) (*Table, error) {
	if p.functions == 0 {
		if err == nil {
			err = ErrEmpty
		}
		return nil, fmt.Errorf("parse kallsyms: %w", err)
	}
	if !p.nonzero {
		return nil, fmt.Errorf("parse kallsyms: %w", ErrRestricted)
	}
	if err != nil {
		err = fmt.Errorf("parse kallsyms: %w", err)
	}
	return p.table(), err
}

// parser collects symbols in input order.
type parser struct {
	entries   []entry
	names     []byte
	modules   []string // index 0 is the kernel itself
	moduleIDs map[string]uint16
	functions int
	nonzero   bool
	text      uint64 // address of _text
	stext     uint64 // address of _stext
}

// read takes in all lines and returns the first error met.
func (p *parser) read(r io.Reader) error {
	br := bufio.NewReaderSize(r, bufferSize)
	var (
		first  error
		offset int64
	)
	for {
		line, err := br.ReadSlice('\n')
		size := len(line)
		if err == bufio.ErrBufferFull {
			// Longer than any symbol: pass over the rest of the line.
			for err == bufio.ErrBufferFull {
				line, err = br.ReadSlice('\n')
				size += len(line)
			}
			line = nil
		}
		if size > 0 {
			line = bytes.TrimSuffix(line, []byte("\n"))
			if !p.line(line) && first == nil {
				first = &FormatError{Offset: offset}
			}
			offset += int64(size)
		}
		if len(p.names) > maxArena-bufferSize {
			return errTooLarge
		}
		if err == io.EOF {
			return first
		}
		if err != nil {
			return fmt.Errorf("at byte %d: %w", offset, err)
		}
	}
}

// line takes in one line without its newline, and reports whether it is well
// formed.
func (p *parser) line(line []byte) bool {
	addr, n := parseHex(line)
	if n == 0 || len(line) < n+4 || line[n] != ' ' || line[n+2] != ' ' {
		return false
	}
	typ, name := line[n+1], line[n+3:]
	module := uint16(0)
	if i := bytes.IndexByte(name, '\t'); i >= 0 {
		var ok bool
		if module, ok = p.module(name[i+1:]); !ok {
			return false
		}
		name = name[:i]
	}
	if len(name) == 0 || len(name) > maxName {
		return false
	}
	p.add(addr, typ, module, name)
	return true
}

// add takes in a symbol. name is not empty, and not too long.
func (p *parser) add(addr uint64, typ byte, module uint16, name []byte) {
	if addr != 0 {
		p.nonzero = true
	}
	if module == 0 {
		switch string(name) {
		case "_text":
			p.text = addr
		case "_stext":
			p.stext = addr
		}
	}

	switch typ {
	case 'T', 't', 'W', 'w':
		if ignored(name) {
			return
		}
		p.functions++
		p.entries = append(p.entries, entry{
			addr:   addr,
			name:   uint32(len(p.names)),
			length: uint16(len(name)),
			module: module,
		})
		p.names = append(p.names, name...)
	case 'D', 'd', 'B', 'b':
		// Data is never executed, but it ends the function before it.
		p.entries = append(p.entries, entry{addr: addr, module: module})
	}
	// The rest perf leaves out too: A and a are absolute (per-cpu offsets
	// and build constants at low addresses), R, r, V and v are data.
}

// module returns the number of the module named in "[module]".
func (p *parser) module(tag []byte) (uint16, bool) {
	if len(tag) < 3 || tag[0] != '[' || tag[len(tag)-1] != ']' {
		return 0, false
	}
	name := tag[1 : len(tag)-1]
	if id, ok := p.moduleIDs[string(name)]; ok {
		return id, true
	}
	if len(p.modules) > maxModules {
		return 0, false
	}
	id := uint16(len(p.modules))
	p.modules = append(p.modules, string(name))
	p.moduleIDs[string(name)] = id
	return id, true
}

// ignored reports whether a symbol in the text names no function:
//   - "$x", "$d": arm64, arm and riscv mapping symbols;
//   - ".L…": assembler labels, which some kernels let through (riscv);
//   - "__pfx_…": the padding in front of a function, which call depth tracking
//     and FineIBT use (kernel 6.2 on). perf 6.1 does not know these; a return
//     address after a call that never returns falls into the padding of the
//     next function, and belongs to the function before.
func ignored(name []byte) bool {
	return name[0] == '$' ||
		bytes.HasPrefix(name, []byte(".L")) ||
		bytes.HasPrefix(name, []byte("__pfx_"))
}

// parseHex reads the hexadecimal number at the start of b. n is the number of
// its digits; 0 if there is none, or if there are more than 64 bits.
func parseHex(b []byte) (v uint64, n int) {
	for n < len(b) {
		c := b[n]
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return v, n
		}
		if n == 16 {
			return 0, 0
		}
		v = v<<4 | uint64(c)
		n++
	}
	return v, n
}
