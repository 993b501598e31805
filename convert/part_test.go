package convert_test

import (
	"errors"
	"testing"

	"kprof/convert"
	"kprof/convert/replay"
	"kprof/convert/stacks"
	"kprof/convert/transform"
	"kprof/perfevent/perfdata"
)

// TestPart: in a part of a recording there may be nothing of what is asked for, which is an error
// in a whole one.
func TestPart(t *testing.T) {
	focus, err := transform.Parse(transform.Focus, "nosuch")
	if err != nil {
		t.Fatal(err)
	}
	profile := func(o convert.Options) *convert.Profile {
		set := stacks.New(stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
		at := set.AddLocation(stacks.NoMapping, 1, stacks.KindUnknown)
		set.SetLines(at, stacks.Line{Function: set.AddFunction(stacks.Function{Name: "main"})})
		set.Add(0, set.Intern([]uint32{at}), set.InternLabels([]stacks.Label{{Key: "comm", Str: "load"}}), 3)
		return convert.New(set, nil, replay.Stats{}, &perfdata.Features{}, o)
	}
	for _, part := range []bool{false, true} {
		p := profile(convert.Options{Part: part, TagRoot: []string{"container"}})
		if err := p.Reshape(); errors.As(err, new(*convert.NoLabelError)) == part {
			t.Errorf("part %v: no sample has a label: %v", part, err)
		}
		stack := p.Set.Stack(p.Set.Sample(0).Stack)
		if root := p.Set.Lines(stack[len(stack)-1]); part && (len(stack) != 2 || p.Set.Functions[root[0].Function].Name != "(none)") {
			t.Errorf("the root of samples without the label is not told: %v", stack)
		}
		p = profile(convert.Options{Part: part, Transforms: []transform.Transform{focus}})
		if err := p.Reshape(); errors.As(err, new(*transform.NoneError)) == part || part && p.Set.NumSamples() != 0 {
			t.Errorf("part %v: no stack has a function: %v, %d samples", part, err, p.Set.NumSamples())
		}
		if none := p.Empty(); part && !errors.As(none, new(*transform.NoneError)) {
			t.Errorf("of a part without samples: %v", none)
		}
	}
}
