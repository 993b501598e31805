package tracer_test

import (
	"context"
	"fmt"
	"time"

	"kprof/perfevent/tracefs"
	"kprof/record/tracer"
)

// count counts pages.
type count int

func (c *count) WritePage(int, []byte) error { *c++; return nil }

// What vfs_read calls, on one CPU for a second.
func Example() {
	fs, err := tracefs.Find(tracefs.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	t, err := tracer.Open(fs, tracer.Options{Graph: []string{"vfs_read"}, CPUs: []int{0}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer t.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	var pages count
	stats, err := t.Run(ctx, &pages, func() error { return nil }, nil)
	fmt.Println(pages, "pages", stats.Events, "events", stats.Lost, "lost", err)
}
