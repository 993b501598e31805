package convert

import (
	"errors"
	"io"

	"kprof/convert/stacks"
	"kprof/perfevent/procfs"
)

// ErrNoModules says that the text of /proc/modules has none with an address, since it was not
// root who read it, or none at all.
var ErrNoModules = errors.New("no modules with addresses: root sees them in /proc/modules")

// ReadGuestModules reads a copy of a virtual machine's /proc/modules, for Selection.GuestModules. A
// line that cannot be read is left out, and the first of them reported as a *procfs.FormatError,
// beside all others. Without any module that has an address it is ErrNoModules.
func ReadGuestModules(r io.Reader) (modules []stacks.Mapping, err error) {
	all, err := procfs.ReadModules(r)
	for _, m := range all {
		if m.Addr != 0 {
			modules = append(modules, stacks.Mapping{File: "[" + m.Name + "]", Start: m.Addr, Limit: m.Addr + m.TextSize})
		}
	}
	if err == nil && len(modules) == 0 {
		err = ErrNoModules
	}
	return modules, err
}
