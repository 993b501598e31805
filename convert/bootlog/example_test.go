package bootlog_test

import (
	"fmt"
	"log"
	"strings"

	"kprof/convert/bootlog"
)

// The initcalls of a log that took longest.
func Example() {
	l, err := bootlog.Read(strings.NewReader(`[    1.400000] entering initcall level: subsys
[    1.500000] calling  acpi_init+0x0/0x4f0 @ 1
[    1.502000] initcall acpi_init+0x0/0x4f0 returned 0 after 2000 usecs
[    1.503000] calling  pci_init+0x0/0x4f0 @ 1
`), bootlog.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range l.Calls {
		fmt.Println(c.Level, c.Name, c.Duration, c.Ended)
	}
	// Output:
	// subsys acpi_init 2ms true
	// subsys pci_init 0s false
}
