package framepointer_test

import (
	"fmt"
	"log"
	"os"

	"kprof/symbolize/framepointer"
)

// A Go program, as this one, has frame pointers.
func Example() {
	path, err := os.Executable()
	if err != nil {
		log.Fatal(err)
	}
	var programs framepointer.Programs
	lacks, err := programs.PathLacks(path)
	fmt.Println(lacks, err)
	// Output: false <nil>
}
