//go:build !portable

package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"kprof/perfevent"
	"kprof/perfevent/abi"
)

// allRegisters is the value of --user-regs and --intr-regs where none is given.
const allRegisters = "all"

// registerMask is the mask of the registers of a flag's list, 0 for none.
func registerMask(flag, list string) (mask uint64, err error) {
	all := perfevent.Registers()
	switch {
	case list == "":
		return 0, nil
	case all == 0:
		return 0, usagef("%s: the registers of %s are not known", flag, runtime.GOARCH)
	case list == allRegisters:
		return all, nil
	}
	for name := range strings.SplitSeq(list, ",") {
		one := abi.RegisterMask(runtime.GOARCH, strings.TrimSpace(name)) & all
		if one == 0 {
			return 0, usagef("%s %q: there is no register %q: use %s", flag, list, name, strings.ToLower(strings.Join(abi.RegisterNames(runtime.GOARCH, all), ",")))
		}
		mask |= one
	}
	return mask, nil
}

// listsRegisters prints which registers there are, if that is asked for.
func (f *recordFlags) listsRegisters() bool {
	if f.userRegs != "?" && f.intrRegs != "?" {
		return false
	}
	fmt.Fprintln(textOutput(os.Stdout), strings.ToLower(strings.Join(abi.RegisterNames(runtime.GOARCH, perfevent.Registers()), " ")))
	return true
}
