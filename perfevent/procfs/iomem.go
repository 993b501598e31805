package procfs

import (
	"bytes"
	"os"
)

// IOMem returns what this machine says of where registers of devices are: /proc/iomem, and of
// /proc/vmallocinfo the lines of what ioremap has mapped. It is empty where neither can be
// read. Addresses of the first are 0 without CAP_SYS_ADMIN, those of the second are numbers
// without a meaning while kernel.kptr_restrict is 0.
func IOMem() []byte {
	all, _ := os.ReadFile("/proc/iomem")
	mapped, _ := os.ReadFile("/proc/vmallocinfo")
	for line := range bytes.Lines(mapped) {
		if bytes.Contains(line, []byte(" phys=")) && bytes.Contains(line, []byte(" ioremap")) {
			all = append(all, line...)
		}
	}
	return all
}
