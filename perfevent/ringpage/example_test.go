package ringpage_test

import (
	"fmt"

	"kprof/perfevent/ringpage"
	"kprof/perfevent/tracetest"
)

func Example() {
	m := tracetest.Machine{Long: 8, Page: 4096} // as trace_pipe_raw gives it
	page := m.Sub(1_000_000, 2, m.Event(10, []byte("one.")), m.Event(5, []byte("two.")))
	l, err := ringpage.ParseHeaderPage(m.HeaderPage(), m.Order)
	if err != nil {
		fmt.Println(err)
	}
	var p ringpage.Page
	if err := p.Load(&l, page); err != nil {
		fmt.Println(err)
	}
	fmt.Println("lost:", p.Lost)
	for {
		data, ok := p.Next()
		if !ok {
			break
		}
		fmt.Printf("%d %s\n", p.Time, data)
	}
	// Output:
	// lost: 2
	// 1000010 one.
	// 1000015 two.
}
