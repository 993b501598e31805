package stacks_test

import (
	"fmt"

	"kprof/convert/stacks"
)

// A profile of two samples of one stack.
func Example() {
	set := stacks.New(stacks.Event{Name: "cycles", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	file := set.AddMapping(stacks.Mapping{File: "/bin/prog", Kind: stacks.KindUser})
	var stack []uint32
	for _, name := range []string{"hot", "main"} { // leaf first
		loc := set.AddLocation(file, 0x1000, stacks.KindUser)
		set.SetLines(loc, stacks.Line{Function: set.AddFunction(stacks.Function{Name: name})})
		stack = append(stack, loc)
	}
	labels := set.InternLabels([]stacks.Label{{Key: "comm", Str: "prog"}})
	set.Add(0, set.Intern(stack), labels, 1)
	set.Add(0, set.Intern(stack), labels, 1)

	names := set.Names()
	for i := range set.NumSamples() {
		row := set.Sample(i)
		for _, loc := range set.Stack(row.Stack) {
			fmt.Print(names.Names[names.Of(loc)[0]], " < ")
		}
		fmt.Println(set.Labels(row.Labels)[0].Str, row.Values)
	}
	// Output: hot < main < prog [2]
}
