package kernellog_test

import (
	"fmt"
	"time"

	"kprof/convert/kernellog"
)

func Example() {
	var zero time.Time
	for _, s := range []string{
		"[    1.250000][   T17] calling  init @ 1",
		"6,339,5140900,-;returned",
		"[    1.5] too few digits",
	} {
		l := kernellog.Cut([]byte(s), &zero)
		fmt.Printf("%v %v %d %s\n", l.Timed, l.At, l.TID, l.Text)
	}
	// Output:
	// true 1.25s 17 calling  init @ 1
	// true 5.1409s 0 returned
	// false 0s 0 [    1.5] too few digits
}
