package stacks_test

import (
	"testing"

	"kprof/convert/stacks"
)

func TestColumnName(t *testing.T) {
	event := func(name string, columns ...string) stacks.Event {
		e := stacks.Event{Name: name}
		for _, c := range columns {
			e.Values = append(e.Values, stacks.ValueType{Type: c})
		}
		return e
	}
	for _, c := range []struct {
		event  stacks.Event
		column int
		want   string
	}{
		{event("inuse_space", "alloc_space", "inuse_space"), 0, "alloc_space"},
		{event("inuse_space", "alloc_space", "inuse_space"), 1, "inuse_space"},
		{event("cpu", "samples", "cpu"), 0, "cpu"},
		{event("cycles", "cycles.samples", "cycles"), 0, "cycles"},
		{event("off-cpu", "samples", "off-cpu", "unended"), 2, "off-cpu"},
		{event("kmem:kmalloc", "samples", "bytes_alloc"), 1, "kmem:kmalloc"},
	} {
		if got := c.event.ColumnName(c.column); got != c.want {
			t.Errorf("column %d of %+v: %s, want %s", c.column, c.event, got, c.want)
		}
	}
}
