// Package elfsym names the functions of one ELF file.
//
// Addresses come in two kinds, never mixed: vaddr is an address as the file's
// own headers count them, off is a byte offset in the file, which is what a
// process maps. PT_LOAD segments translate one into the other.
//
// Which symbols count, which alias names an address, and where a symbol without
// a size ends follow perf 6.1, so that names agree with what "perf script"
// prints.
//
// Files are hostile input: whatever their bytes, nothing here panics, and no
// more is allocated than the file has bytes for, within fixed limits.
package elfsym

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"kprof/symbolize/regular"
)

// ErrStripped reports a file without a symbol table, whose debug file was not
// found either; what it exports may still have names.
var ErrStripped = errors.New("no symbol table (stripped)")

// ErrNotELF reports a file of another format.
var ErrNotELF = errors.New("not an ELF file")

// ErrNotRegular reports a path that leads to something other than a regular
// file; such a path is never opened.
var ErrNotRegular = regular.ErrNotRegular

// Options say how a file's symbols are read. The zero value is useful.
type Options struct {
	// Root is a directory that DebugDirs and the file's own directory are
	// looked up in; empty is the machine's root directory.
	Root string

	// DebugDirs hold separate debug files, for files without a symbol table;
	// nil is /usr/lib/debug. An empty slice looks for none.
	DebugDirs []string

	// Demangle gives the readable form of a name, or the name itself. perf
	// chooses between aliases by their readable names. nil leaves names alone.
	Demangle func(name string) string

	// DWARF has AppendFunctions read debug information, of the file or of its
	// debug file; the file must then stay open. It is not read before that.
	DWARF bool

	// Fetch brings the debug file with a build id from elsewhere, where none is
	// found here: that of the file, or what it shares with others (dwz); the File
	// closes it. nil looks nowhere else.
	Fetch func(buildID []byte) (f *os.File, path string, err error)

	// NamesOnly leaves the function table of a Go program out where symbols name all of its
	// functions: it is larger than these, and only for files, lines and what was inlined.
	NamesOnly bool

	// Module says that the file is a kernel module, or one's debug file:
	// addresses count from where it is loaded.
	Module bool
}

// A File is an open ELF file. Its methods may be called concurrently; symbols
// are read by the first call that needs them.
type File struct {
	path    string // empty if it has none
	opts    Options
	reader  io.ReaderAt
	closer  io.Closer
	elf     *elf.File
	buildID []byte

	segments []segment
	golang   bool // has Go's function table

	loadOnce sync.Once
	table    *table        // never nil once loaded
	separate *separateFile // open debug file, nil if none is needed
	refused  error         // why not the first one found
	loadErr  error

	debug debugInfo
}

// Open opens the ELF file at path, which must be a regular file.
func Open(path string, opts Options) (*File, error) {
	f, _, err := regular.Open("", path)
	if err != nil {
		return nil, err
	}
	return FromFile(f, path, opts)
}

// Path is what the file was opened by, empty if it was not.
func (f *File) Path() string { return f.path }

// Relocatable reports whether the file is not linked yet, as kernel modules are.
func (f *File) Relocatable() bool { return f.elf.Type == elf.ET_REL }

// Contents reads the file, unpacked if it is compressed. It must be open.
func (f *File) Contents() (*io.SectionReader, error) {
	switch r := f.reader.(type) {
	case *bytes.Reader:
		return io.NewSectionReader(r, 0, r.Size()), nil
	case *os.File:
		st, err := r.Stat()
		if err != nil {
			return nil, err
		}
		return io.NewSectionReader(r, 0, st.Size()), nil
	}
	return nil, fmt.Errorf("%s: its size is not known", f.path)
}

// FromFile takes over f, an open regular file: Close closes it, and so does
// FromFile if it fails. The path serves messages, and to find a separate debug
// file beside it; it is a path below opts.Root.
func FromFile(f *os.File, path string, opts Options) (*File, error) {
	file, err := New(f, opts)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	file.closer = f
	file.path = path
	return file, nil
}

// New reads the headers of an ELF file. r must stay readable until Load has
// returned or Close was called; with Options.DWARF until Close.
func New(r io.ReaderAt, opts Options) (*File, error) {
	if err := checkHeader(r); err != nil {
		return nil, err
	}
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, err
	}
	if opts.Module && f.Type == elf.ET_REL {
		placeModule(f)
	}
	return &File{
		opts:     opts,
		reader:   r,
		elf:      f,
		buildID:  buildID(f),
		segments: segments(f),
		golang:   goSection(f) != nil,
	}, nil
}

// Load reads all that lookups need, but for debug information. After it has
// returned, the file may be closed and lookups still work. The error says why
// there are no symbols, or fewer than there should be: ErrStripped, or what is
// wrong with the file.
func (f *File) Load() error {
	f.loadOnce.Do(func() { f.table, f.loadErr = load(f) })
	return f.loadErr
}

// Close closes the file. Lookups after it find what Load had read.
func (f *File) Close() error {
	// Whoever closes first leaves nothing to be loaded later.
	f.loadOnce.Do(func() {
		f.table, f.loadErr = &table{}, os.ErrClosed
	})
	f.debug.close()
	if f.separate != nil {
		f.separate.file.Close() // only read; twice is no harm
	}
	if f.closer == nil {
		return nil
	}
	err := f.closer.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	return err
}

// Memory is about how many bytes is kept of the file when it is closed.
func (f *File) Memory() int {
	f.Load() // its error is the caller's to ask for
	return f.table.memory()
}

// BuildID returns the GNU build id, nil if the file has none. The caller must
// not change it.
func (f *File) BuildID() []byte { return f.buildID }

// Lookup returns the symbol that covers vaddr. Without an error from Load it
// allocates nothing.
func (f *File) Lookup(vaddr uint64) (Symbol, bool) {
	f.Load() // its error is the caller's to ask for
	return f.table.lookup(vaddr)
}

// LookupOffset returns the symbol that covers the byte at offset off of the
// file.
func (f *File) LookupOffset(off uint64) (Symbol, bool) {
	vaddr, ok := f.Vaddr(off)
	if !ok {
		return Symbol{}, false
	}
	return f.Lookup(vaddr)
}

// AppendFunctions appends the functions at vaddr with their source positions,
// as the function table of Go programs and, with Options.DWARF, debug
// information tell them: with inline the innermost inlined function first, else
// only the one that holds the code. A function may lack its name where only the
// line is known. It appends nothing if the file does not tell.
func (f *File) AppendFunctions(dst []Function, vaddr uint64, inline bool) []Function {
	before := len(dst)
	if f.golang {
		f.Load() // its error is the caller's to ask for
		if f.table.golang != nil {
			dst = f.table.golang.appendFunctions(dst, vaddr, inline)
		}
	}
	if f.opts.DWARF && len(dst) == before {
		dst = f.appendDebug(dst, vaddr, inline)
	}
	return dst
}
