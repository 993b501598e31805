package convert_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"kprof/convert"
	"kprof/convert/stacks"
)

// TestChoose: the event with the most samples is shown, but where labels are asked for
// none that has not any of them, and the number of samples where there are no values.
func TestChoose(t *testing.T) {
	event := func(name string) stacks.Event {
		return stacks.Event{Name: name, Values: []stacks.ValueType{{Type: "samples", Unit: "count"}, {Type: name, Unit: "bytes"}}}
	}
	set := stacks.New(event("a"), event("b"), event("c"))
	stack := set.Intern(nil)
	disk := set.InternLabels([]stacks.Label{{Key: "disk", Str: "sda"}})
	set.Add(0, stack, disk, 3, 7)
	set.Add(1, stack, set.InternLabels(nil), 9, 0)
	set.Add(2, stack, disk, 4, 7)
	p := &convert.Profile{Set: set}
	for _, c := range []struct {
		labels []string
		want   convert.Choice
	}{
		{nil, convert.Choice{Event: 1, Samples: 9, Weightless: true, Others: []string{"a", "c"}, Counts: []int64{3, 4}}},
		{[]string{"none"}, convert.Choice{Event: 1, Samples: 9, Weightless: true, Others: []string{"a", "c"}, Counts: []int64{3, 4}}},
		{[]string{"none", "disk"}, convert.Choice{Event: 2, Column: 1, Samples: 4, Others: []string{"a", "b"}, Counts: []int64{3, 9}}},
	} {
		got := p.Choose(c.labels)
		if got.Event != c.want.Event || got.Column != c.want.Column || got.Samples != c.want.Samples || got.Weightless != c.want.Weightless ||
			!slices.Equal(got.Others, c.want.Others) || !slices.Equal(got.Counts, c.want.Counts) {
			t.Errorf("%q: %+v, want %+v", c.labels, got, c.want)
		}
	}
	if got := (&convert.Profile{Set: stacks.New()}).Choose(nil); len(got.Others) > 0 || got.Samples > 0 {
		t.Errorf("of nothing: %+v", got)
	}
}

// TestShownColumn: where all of what an event is called after is 0, the first column is shown that
// is not.
func TestShownColumn(t *testing.T) {
	columns := []stacks.ValueType{{Type: "a", Unit: "count"}, {Type: "b", Unit: "bytes"}, {Type: "c", Unit: "count"}}
	for _, c := range []struct {
		values     []int64
		column     int
		weightless bool
	}{
		{[]int64{1, 2, 3}, 2, false},
		{[]int64{1, 2, 0}, 0, true},
		{[]int64{0, 2, 0}, 1, true},
		{[]int64{0, 0, 0}, 2, false},
	} {
		set := stacks.New(stacks.Event{Name: "c", Values: columns})
		set.Add(0, set.Intern(nil), set.InternLabels(nil), c.values...)
		p := &convert.Profile{Set: set}
		if column, weightless := p.ShownColumn(0); column != c.column || weightless != c.weightless {
			t.Errorf("%d: %d, %t, want %d, %t", c.values, column, weightless, c.column, c.weightless)
		}
	}
}

// TestMainEventOfNothing: an empty pprof profile without columns, as a service that has just begun
// answers, has no event to show.
func TestMainEventOfNothing(t *testing.T) {
	p, err := convert.Read(t.Context(), strings.NewReader("\x32\x00"), convert.Options{}) // a string table of "", alone
	if p == nil || !errors.As(err, new(*convert.EmptyError)) {
		t.Fatalf("%v, %v", p, err)
	}
	if event, column := p.MainEvent(); event != 0 || column != 0 {
		t.Errorf("event %d, column %d", event, column)
	}
}
