package perfevent

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Capabilities is a set of capabilities(7): bit n is the capability of number n.
type Capabilities uint64

// CapabilitiesOf is the set with these numbers.
func CapabilitiesOf(numbers ...int) (set Capabilities) {
	for _, n := range numbers {
		set |= 1 << n
	}
	return set
}

// capData are the two halves of three sets, as capset(2) takes them.
func capData(effective, permitted Capabilities) [2]unix.CapUserData {
	return [2]unix.CapUserData{
		{Effective: uint32(effective), Permitted: uint32(permitted)},
		{Effective: uint32(effective >> 32), Permitted: uint32(permitted >> 32)},
	}
}

// ThreadCapabilities returns which capabilities the calling thread may have.
func ThreadCapabilities() (permitted Capabilities, err error) {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return 0, fmt.Errorf("ask for capabilities: %w", err)
	}
	return Capabilities(data[1].Permitted)<<32 | Capabilities(data[0].Permitted), nil
}

// SetThreadCapabilities sets those of the calling thread; inheritable ones are
// none.
func SetThreadCapabilities(effective, permitted Capabilities) error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	data := capData(effective, permitted)
	if err := unix.Capset(&hdr, &data[0]); err != nil {
		return fmt.Errorf("set the capabilities of a thread: %w", err)
	}
	return nil
}

// SetCapabilities sets those of all threads of the process, and so of those that
// they will start. All must have been permitted the same. In a program with C code
// it fails with errors.ErrUnsupported: Go does not know all threads there.
//
// It stops the whole program until each thread has done it: none may be in a system
// call that no signal ends, such as opening a file that somebody else's file system
// does not give out.
func SetCapabilities(effective, permitted Capabilities) error {
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	data := capData(effective, permitted)
	// Both are read by the kernel during the call, for whose time
	// AllThreadsSyscall, which is marked go:uintptrescapes, keeps them.
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&hdr)), uintptr(unsafe.Pointer(&data)), 0)
	if errno != 0 {
		return fmt.Errorf("set the capabilities of all threads: %w", errno)
	}
	return nil
}

// KnowsCapability reports whether the kernel has the capability of a number.
func KnowsCapability(number int) bool {
	b, err := os.ReadFile("/proc/sys/kernel/cap_last_cap")
	if err != nil {
		return false
	}
	last, err := strconv.Atoi(strings.TrimSpace(string(b)))
	return err == nil && number <= last
}
