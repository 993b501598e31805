package syscalls_test

import (
	"fmt"
	"testing"

	"kprof/perfevent/syscalls"
)

func Example() {
	for _, machine := range []string{"x86_64", "aarch64", "armv7l"} {
		t := syscalls.Of(machine)
		name, _ := t.Name(0)
		number, _ := t.Number("openat")
		fmt.Println(machine, name, number)
	}
	// Output:
	// x86_64 read 257
	// aarch64 io_setup 56
	// armv7l restart_syscall 322
}

// TestKnown: numbers that the kernel's headers have (arch/*/entry/syscalls/*.tbl,
// asm-generic/unistd.h).
func TestKnown(t *testing.T) {
	for _, c := range []struct {
		machine, name string
		number        uint64
	}{
		{"x86_64", "futex", 202}, {"x86_64", "exit_group", 231}, {"x86_64", "pidfd_send_signal", 424}, {"x86_64", "rseq", 334},
		{"aarch64", "futex", 98}, {"aarch64", "execve", 221}, {"riscv64", "clone3", 435}, {"loongarch64", "futex", 98},
		{"i686", "execve", 11}, {"s390x", "openat", 288}, {"ppc64le", "openat", 286}, {"armv7l", "execve", 11}, {"mips64", "read", 5000},
	} {
		table := syscalls.Of(c.machine)
		name, ok := table.Name(c.number)
		number, known := table.Number(c.name)
		if !ok || !known || name != c.name || number != c.number {
			t.Errorf("%s: %d is %q, %s is %d", c.machine, c.number, name, c.name, number)
		}
	}
}

func TestUnknown(t *testing.T) {
	none := syscalls.Of("vax")
	if none != nil || len(none.Names()) != 0 {
		t.Error("a VAX has none")
	}
	if _, ok := none.Name(1); ok {
		t.Error("named")
	}
	x := syscalls.Of("x86_64")
	if name, ok := x.Name(1 << 40); ok {
		t.Error(name)
	}
	if name, ok := x.Name(400); ok { // between the old numbers and those of all architectures
		t.Error(name)
	}
	if n := len(x.Names()); n < 370 {
		t.Errorf("%d names", n)
	}
}
