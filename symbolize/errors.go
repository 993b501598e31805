package symbolize

import (
	"errors"
	"fmt"
	"io/fs"

	"kprof/symbolize/elfsym"
	"kprof/symbolize/kallsyms"
	"kprof/symbolize/process"
)

// Reasons why a mapping has no names, beside fs.ErrNotExist, fs.ErrPermission
// and *BuildIDError.
var (
	// ErrRestricted: the kernel hides its addresses from this user.
	ErrRestricted = kallsyms.ErrRestricted

	// ErrStripped: the file has no symbol table, and no debug file was found;
	// only what it exports has names.
	ErrStripped = elfsym.ErrStripped

	// ErrNotRegular: the recorded path leads to a FIFO, device or directory.
	ErrNotRegular = elfsym.ErrNotRegular

	// ErrForeign: only the recorded machine could tell.
	ErrForeign = errors.New("recorded on another machine or boot")

	// ErrUnplaced: the same of a recording that does not say where it was made. It is
	// ErrForeign too.
	ErrUnplaced error = unplacedError{}

	// ErrNotInRoot: Options.Root does not hold the file.
	ErrNotInRoot = errors.New("not among the recorded machine's files")

	// ErrUntrusted: a perf map or jitdump belongs to someone else than the user of
	// the process.
	ErrUntrusted = process.ErrUntrusted

	// ErrGuest: only the virtual machine itself could tell.
	ErrGuest = errors.New("the kernel of a virtual machine, of which no symbols were given")

	// ErrNoSymbols: the mapping is of a kind that has no names.
	ErrNoSymbols = errors.New("no symbols for this kind of mapping")
)

type unplacedError struct{}

func (unplacedError) Error() string { return "recorded on a machine that it does not name" }

func (unplacedError) Is(target error) bool { return target == ErrForeign }

// An Error says why names of a mapping are missing, or lines and inlined
// functions.
type Error struct {
	Mapping Mapping
	Err     error // nil if all have names
	Debug   error // nil if all have lines, or none are wanted
	Inlined error // why functions that were inlined may be missing where lines are known; nil if none is, or none are wanted
}

func (e *Error) Error() string {
	name := e.Mapping.Path() + e.Mapping.Symbol
	if name == "" {
		name = e.Mapping.Kind.String()
	}
	switch {
	case e.Err != nil:
		return fmt.Sprintf("symbols of %s: %v", name, e.Err)
	case e.Debug != nil:
		return fmt.Sprintf("lines of %s: %v", name, e.Debug)
	}
	return fmt.Sprintf("inlined functions of %s: %v", name, e.Inlined)
}

func (e *Error) Unwrap() error { return e.Err }

// A BuildIDError reports a file, or a kernel, that is not the recorded one.
type BuildIDError struct {
	Path     string // what was looked at
	Recorded string // hexadecimal
	Found    string // hexadecimal; empty if it has none
}

func (e *BuildIDError) Error() string {
	if e.Found == "" {
		return fmt.Sprintf("%s has no build id, recorded %s", e.Path, e.Recorded)
	}
	return fmt.Sprintf("%s has build id %s, recorded %s", e.Path, e.Found, e.Recorded)
}

// A SeveralBuildsError reports a file of which several builds were recorded, where what there is
// now cannot be said to be the one that was mapped.
type SeveralBuildsError struct {
	Path   string
	Builds int // how many
}

func (e *SeveralBuildsError) Error() string {
	return fmt.Sprintf("%d builds of %s were recorded, and nothing says which of them was mapped here", e.Builds, e.Path)
}

// A BootImageError reports a kernel as it is booted, which has no symbols.
type BootImageError struct {
	Path    string
	Format  string // "bzImage"
	BuildID string // hexadecimal; empty if it has none
}

func (e *BootImageError) Error() string {
	is := ""
	if e.BuildID != "" {
		is = " with build id " + e.BuildID
	}
	return fmt.Sprintf("%s is a kernel to boot (%s)%s and has no symbols: these are in the vmlinux that it was made of", e.Path, e.Format, is)
}

// A VmlinuxError says why Options.Vmlinux cannot be used: a *BuildIDError, a
// *BootImageError, or what is wrong with the file.
type VmlinuxError struct {
	Path string
	Err  error
}

func (e *VmlinuxError) Error() string { return e.Err.Error() }
func (e *VmlinuxError) Unwrap() error { return e.Err }

// A KallsymsError says why Options.KallsymsPath cannot be opened.
type KallsymsError struct {
	Path string
	Err  error
}

func (e *KallsymsError) Error() string { return e.Err.Error() }
func (e *KallsymsError) Unwrap() error { return e.Err }

// notFound is a fs.ErrNotExist that says what was looked for in many places.
type notFound string

func (e notFound) Error() string        { return "found no " + string(e) }
func (e notFound) Is(target error) bool { return target == fs.ErrNotExist }

// moreTelling returns which of two reasons to report, of several places looked
// at in turn: a wrong or unclear build before a lack of permission, any other failure
// before the mere absence of a file, and of equals the first.
func moreTelling(a, b error) error {
	if rank(b) > rank(a) {
		return b
	}
	return a
}

func rank(err error) int {
	var id *BuildIDError
	var several *SeveralBuildsError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, fs.ErrNotExist):
		return 1
	case errors.Is(err, fs.ErrPermission):
		return 3
	case errors.As(err, &id), errors.As(err, &several):
		return 4
	}
	return 2
}
