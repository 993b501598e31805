package printable_test

import (
	"fmt"

	"kprof/convert/printable"
)

func Example() {
	fmt.Println(printable.Text("red: \x1b[31m"))
	fmt.Println(printable.Shorten("a long name", 6))
	fmt.Println(printable.Value(2_500_000, "nanoseconds"), printable.Value(1536, "bytes"))
	// Output:
	// red: �[31m
	// a lon…
	// 2.5ms 1.5kB
}
