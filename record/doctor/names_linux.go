package doctor

import (
	"errors"
	"fmt"
	"os"

	"kprof/symbolize/kallsyms"

	"golang.org/x/sys/unix"
)

// What is so where /proc/kallsyms shows no addresses, and what would show them.
const (
	SymbolsHidden       = "/proc/kallsyms shows no addresses, so kernel frames stay without names"
	SymbolsHiddenRemedy = "needs CAP_SYSLOG with kptr_restrict at most 1, or kptr_restrict 0 with perf_event_paranoid at most 1"
)

func names() []Finding {
	kptr := Finding{What: "kptr_restrict", Remedy: "sysctl kernel.kptr_restrict=0, or run as root"}
	if level, err := kernelSetting("kptr_restrict"); err != nil {
		kptr.Detail = err.Error()
	} else {
		kptr.OK = level == 0
		kptr.Detail = fmt.Sprintf("%d", level)
		if level == 1 && capabilities()>>unix.CAP_SYSLOG&1 != 0 {
			kptr.OK = true
			kptr.Detail += ", which CAP_SYSLOG overrides"
		}
	}
	return []Finding{kptr, kernelSymbols(), readable("kernel build id", "/sys/kernel/notes", "kernels cannot be told apart"),
		readable("kernel types (BTF)", "/sys/kernel/btf/vmlinux", "needs a kernel with CONFIG_DEBUG_INFO_BTF")}
}

func kernelSymbols() Finding {
	f := Finding{What: "kernel symbols"}
	file, err := os.Open("/proc/kallsyms")
	if err != nil {
		f.Detail, f.Remedy = err.Error(), "needs a kernel with CONFIG_KALLSYMS"
		return f
	}
	defer file.Close()
	switch _, err := kallsyms.Parse(file); {
	case err == nil:
		f.OK, f.Detail = true, "/proc/kallsyms has addresses"
	case errors.Is(err, kallsyms.ErrRestricted):
		f.Detail, f.Remedy = SymbolsHidden, SymbolsHiddenRemedy
	default:
		f.Detail = err.Error()
	}
	return f
}
