package event_test

import (
	"fmt"

	"kprof/perfevent"
	"kprof/perfevent/event"
)

// An event is looked up, configured, opened on the calling thread, and read.
func ExampleResolver() {
	spec, err := event.ParseSpec("task-clock:u")
	if err != nil {
		fmt.Println(err)
		return
	}
	var r event.Resolver
	defer r.Close()
	events, err := r.Resolve(spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	e := events[0]
	e.Configure(perfevent.Sampling{})
	c, err := e.Open(perfevent.Where{CPU: perfevent.AnyCPU})
	if err != nil {
		return // not permitted here
	}
	defer c.Close()
	if err := c.Enable(); err != nil {
		fmt.Println(err)
	}
	count, err := c.Read()
	fmt.Println(e.Name, count.Value <= uint64(count.Enabled), err)
}
