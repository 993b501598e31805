package store

import (
	"errors"
	"testing"
	"time"

	"kprof/convert/stacks"
	"kprof/convert/store/storetest"
)

// TestTyped: of a time in which a store has profiles of two types the periods are all of the one
// that the whole is, and none is of the other where it has none of that.
func TestTyped(t *testing.T) {
	server := storetest.New(t)
	c := client(t, ClientOptions{URL: server.URL})
	s := NewSender(c, SenderOptions{Pieces: PieceOptions{Labels: service}})
	q := lastHour()
	for i, event := range []string{"cpu-clock", "page-faults"} {
		set := recorded("web1", 5)
		if event != "cpu-clock" {
			set.Events[0] = stacks.Event{Name: event, Values: []stacks.ValueType{{Type: "samples", Unit: "count"}, {Type: event, Unit: "count"}}}
			set.PeriodType = stacks.ValueType{}
		}
		set.TimeNanos = q.Start.Add(time.Duration(10+30*i) * time.Minute).UnixNano()
		if err := errors.Join(s.Enqueue(set), s.Drain(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	typed, err := c.Typed(t.Context(), q)
	if err != nil || typed.Type != "process_cpu" {
		t.Fatalf("%q, %v", typed.Type, err)
	}
	periods := typed.Periods(31 * time.Minute)
	if len(periods) != 2 {
		t.Fatalf("%d periods", len(periods))
	}
	if set, err := c.Fetch(t.Context(), periods[0]); err != nil || set.Events[0].Name != "cpu-clock" {
		t.Error(set, err)
	}
	if set, err := c.Fetch(t.Context(), periods[1]); !errors.As(err, new(*NoProfilesError)) {
		t.Errorf("%v, %v: a period has none of that type", set, err)
	}

	q.Type = "page-faults:samples:count:samples:count"
	if typed, err = c.Typed(t.Context(), q); err != nil || typed.Type != q.Type {
		t.Errorf("%q, %v: it says its type itself", typed.Type, err)
	}
	q = Query{Start: q.Start.Add(-2 * time.Hour), End: q.Start.Add(-time.Hour)}
	if typed, err = c.Typed(t.Context(), q); err != nil || typed.Type != "" {
		t.Errorf("%q, %v: there is none", typed.Type, err)
	}
}
