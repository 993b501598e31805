package pprofui

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/google/pprof/driver"
	"github.com/google/pprof/profile"
)

// driverFlags gives pprof's driver a command line of its own.
type driverFlags struct {
	*flag.FlagSet
	args []string
}

func (f *driverFlags) StringList(name, def, usage string) *[]*string {
	return &[]*string{f.String(name, def, usage)}
}

func (f *driverFlags) ExtraUsage() string   { return "" }
func (f *driverFlags) AddExtraUsage(string) {}

func (f *driverFlags) Parse(usage func()) []string {
	f.Usage = usage
	if err := f.FlagSet.Parse(f.args); err != nil {
		return nil
	}
	return f.Args()
}

// noSymbolizer leaves the names as they are.
type noSymbolizer struct{}

func (noSymbolizer) Symbolize(string, driver.MappingSources, *profile.Profile) error { return nil }

// noObjects keeps pprof from looking for binaries: mappings may be called
// "[kernel.kallsyms]", and all has its name already.
type noObjects struct{}

var errNoObjects = errors.New("no binaries are opened")

func (noObjects) Open(string, uint64, uint64, uint64, string) (driver.ObjFile, error) {
	return nil, errNoObjects
}

func (noObjects) Disasm(string, uint64, uint64, bool) ([]driver.Inst, error) {
	return nil, errNoObjects
}

// driverUI passes on what pprof's driver has to complain about.
type driverUI struct{ message func(string) }

func (driverUI) ReadLine(string) (string, error)     { return "", io.EOF }
func (driverUI) Print(...any)                        {}
func (u driverUI) PrintErr(args ...any)              { u.message(strings.TrimSpace(fmt.Sprint(args...))) }
func (driverUI) IsTerminal() bool                    { return false }
func (driverUI) WantBrowser() bool                   { return true }
func (driverUI) SetAutoComplete(func(string) string) {}
