package event

import (
	"fmt"
	"reflect"
	"runtime"
	"sync/atomic"

	"kprof/perfevent"
)

// BreakpointHits counts the writes, of as many as tries, that a breakpoint on a variable of this
// program counts. Of some virtual machines it is none: their breakpoints open, and their
// processor never stops at one.
func BreakpointHits(tries int) (hits uint64, err error) {
	var watched atomic.Uint64
	spec, err := ParseSpec(fmt.Sprintf("mem:%#x/8:w", reflect.ValueOf(&watched).Pointer()))
	if err != nil {
		return 0, err
	}
	events, err := new(Resolver).Resolve(spec)
	if err != nil {
		return 0, err
	}
	e := &events[0]
	e.Configure(perfevent.Sampling{})
	e.Attr.Flags |= UserOnly
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c, err := e.Open(perfevent.Where{CPU: perfevent.AnyCPU})
	if err != nil {
		return 0, err
	}
	defer c.Close() // it is only read
	if err := c.Enable(); err != nil {
		return 0, err
	}
	for i := range tries {
		watched.Store(uint64(i))
	}
	if err := c.Disable(); err != nil {
		return 0, err
	}
	n, err := c.Read()
	return n.Value, err
}
