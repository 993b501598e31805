// Fuzzpack moves the inputs that go test -fuzz left in folders below testdata/fuzz
// into the archive of their target, and prints which.
//
//	fuzzpack PACKAGE_DIRECTORY...
package main

import (
	"fmt"
	"os"

	"kprof/perfevent/fuzztest"
)

func main() {
	for _, dir := range os.Args[1:] {
		packed, err := fuzztest.Pack(dir)
		for _, input := range packed {
			fmt.Println("packed into", input)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "fuzzpack:", err)
			os.Exit(1)
		}
	}
}
