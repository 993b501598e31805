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
		"[    1.501000] [     T77] probe of a",
		"[    1.501000 <    0.000012>] since the line before",
		"7,2,1501000,-,caller=T77;probe of a",
		"7,2,1501000,-,caller=C1,more;probe of a",
		"May 01 10:00:05 host kernel: usb 1-1: new",
		"2024-05-01T10:00:05.123456+0200 host kernel: usb 1-1: new",
		"[Wed May  1 10:00:05 2024] usb 1-1: new",
		"[Wed May  1 10:00:05 2024] [    T9] usb 1-1: new",
	} {
		l := kernellog.Cut([]byte(s), &zero)
		fmt.Printf("%v %v %d %s\n", l.Timed, l.At, l.TID, l.Text)
	}
	// Output:
	// true 1.25s 17 calling  init @ 1
	// true 5.1409s 0 returned
	// false 0s 0 [    1.5] too few digits
	// true 1.501s 77 probe of a
	// true 1.501s 0 since the line before
	// true 1.501s 77 probe of a
	// true 1.501s 0 probe of a
	// false 0s 0 usb 1-1: new
	// false 0s 0 usb 1-1: new
	// false 0s 0 usb 1-1: new
	// false 0s 9 usb 1-1: new
}
