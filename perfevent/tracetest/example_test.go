package tracetest_test

import (
	"fmt"

	"kprof/perfevent/ringpage"
	"kprof/perfevent/tracetest"
)

func Example() {
	m := tracetest.Machine{Long: 8, Page: 4096}
	var p ringpage.Page
	l := ringpage.Default(m.Order, m.Long, m.Page)
	if err := p.Load(&l, m.Sub(1000, 0, m.Event(5, []byte("once")))); err != nil {
		fmt.Println(err)
	}
	data, ok := p.Next()
	fmt.Printf("%d %q %v\n", p.Time, data, ok)
	// Output: 1005 "once" true
}
