package doctor

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"kprof/perfevent/tracefs"
	"kprof/symbolize/kallsyms"
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
	return []Finding{pidNamespace(), kptr, kernelSymbols(), readable("kernel build id", "/sys/kernel/notes", "kernels cannot be told apart"),
		readable("kernel types (BTF)", "/sys/kernel/btf/vmlinux", "needs a kernel with CONFIG_DEBUG_INFO_BTF")}
}

// pidNamespace says whether the kernel tells this process the numbers of all tasks.
func pidNamespace() Finding {
	f := Finding{What: "pid namespace", Remedy: "as all have pid 0; whoever runs the container can let it see them (docker run --pid=host)"}
	switch ns, err := tracefs.PIDNamespace(); {
	case err != nil:
		f.Detail = err.Error()
	case ns == 0:
		f.OK, f.Detail = true, "the machine's, which all tasks are in"
	default:
		f.Detail = "not the machine's, so tasks outside it stay without names"
	}
	return f
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
