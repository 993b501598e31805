package kallsyms

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"

	"kprof/perfevent/procfs"
)

// ErrRestricted reports kernel symbols whose addresses the kernel hides: every
// one of them reads as zero.
var ErrRestricted = errors.New("kernel addresses are hidden (all zero): " +
	"needs CAP_SYSLOG with kernel.kptr_restrict at most 1, or kptr_restrict 0 with kernel.perf_event_paranoid at most 1")

// ErrEmpty reports input without a single function symbol.
var ErrEmpty = errors.New("no kernel function symbols")

// A FormatError reports a line that is not "address type name [module]".
type FormatError = procfs.FormatError

const (
	maxName    = math.MaxUint16 // KSYM_NAME_LEN is 512
	maxModules = math.MaxUint16

	// maxArena is how much names may take: what the offset of an entry can say, and
	// an int of this machine.
	maxArena = min(math.MaxUint32, math.MaxInt)
)

var errTooLarge = errors.New("kernel symbol names exceed the memory for them (4 GiB, 2 GiB on 32 bits)")

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

// ParseAll is Parse of a list in which each name is one of a frame, so that none is left out
// for what kallsyms calls so, such as the padding in front of a function.
func ParseAll(r io.Reader) (*Table, error) {
	p := newParser()
	p.all = true
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
	all       bool   // nothing is ignored
	text      uint64 // address of _text
	stext     uint64 // address of _stext
}

// read takes in all lines and returns the first error met.
func (p *parser) read(r io.Reader) error {
	var refused error
	err := procfs.ReadSymbols(r, func(s *procfs.Symbol) bool {
		module, ok := p.module(s.Module)
		if !ok || len(s.Name) > maxName {
			if refused == nil {
				refused = &FormatError{File: "kallsyms", Offset: s.Offset}
			}
			return true
		}
		if len(p.names) > maxArena-maxName {
			refused = errTooLarge
			return false
		}
		p.add(s.Addr, s.Type, module, s.Name)
		return true
	})
	var format *FormatError
	if refused != nil && (err == nil || errors.As(err, &format)) {
		return refused
	}
	return err
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
		if !p.all && ignored(name) {
			return
		}
		p.functions++
		if cap(p.names)-len(p.names) < len(name) {
			p.names = slices.Grow(p.names, len(p.names)+len(name)) // append would add a quarter, and copy more often
		}
		if len(p.entries) == cap(p.entries) {
			p.entries = slices.Grow(p.entries, len(p.entries)+1)
		}
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

// module returns the number of a module, 0 for the kernel itself, and false where
// there are too many.
func (p *parser) module(name []byte) (uint16, bool) {
	if name == nil {
		return 0, true
	}
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
