//go:build linux

package perfevent_test

import (
	"fmt"

	"kprof/perfevent"
	"kprof/perfevent/abi"
)

// Page faults of the calling thread are counted.
func Example() {
	e := perfevent.Event{Name: "page-faults:u", Attr: abi.Attr{
		Type: abi.TypeSoftware, Config: abi.SWPageFaults,
		Flags: abi.FlagExcludeKernel | abi.FlagExcludeHV,
	}}
	e.Configure(perfevent.Sampling{Period: 1})
	c, err := perfevent.Open(&e, perfevent.Where{CPU: perfevent.AnyCPU})
	if err != nil {
		return // not permitted here: a *perfevent.PermissionError says what would do
	}
	defer c.Close()
	if err := c.Enable(); err != nil {
		fmt.Println(err)
	}
	touched := make([]byte, 1<<20)
	touched[0] = 1
	if err := c.Disable(); err != nil {
		fmt.Println(err)
	}
	count, err := c.Read()
	fmt.Println(count.Value > 0, count.Lost, err)
}
