package bench_test

import (
	"fmt"
	"regexp"

	"kprof/record/bench"
)

func ExampleOps() {
	n, err := bench.Ops([]byte("warming up: 10 requests\nserved 4500 requests\n"), regexp.MustCompile(`(\d+) requests`))
	fmt.Println(n, err)
	// Output: 4500 <nil>
}
