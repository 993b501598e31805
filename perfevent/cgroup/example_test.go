package cgroup_test

import (
	"errors"
	"fmt"
	"os"

	"kprof/perfevent/cgroup"
)

// A cgroup that may be there or not.
func Example() {
	dir, err := cgroup.Open("no-such.slice")
	if errors.Is(err, os.ErrNotExist) {
		fmt.Println("there is no such cgroup")
		return
	}
	dir.Close()
	// Output: there is no such cgroup
}
