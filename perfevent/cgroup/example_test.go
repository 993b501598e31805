package cgroup_test

import (
	"errors"
	"fmt"
	"os"

	"kprof/perfevent/cgroup"
)

// A cgroup that may be there or not.
func Example() {
	dirs, paths, err := cgroup.OpenAll([]string{"no-such.slice"})
	if errors.Is(err, os.ErrNotExist) {
		fmt.Println("there is no such cgroup")
		return
	}
	for i, dir := range dirs {
		fmt.Println(paths[i])
		dir.Close()
	}
	// Output: there is no such cgroup
}
