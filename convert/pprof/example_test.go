package pprof_test

import (
	"bytes"
	"fmt"
	"log"

	"kprof/convert/pprof"
	"kprof/convert/stacks"
)

// A Set that is written and read again.
func Example() {
	set := stacks.New(stacks.Event{Name: "cycles", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	loc := set.AddLocation(stacks.NoMapping, 0x1000, stacks.KindUser)
	set.SetLines(loc, stacks.Line{Function: set.AddFunction(stacks.Function{Name: "main", SystemName: "main"})})
	set.Add(0, set.Intern([]uint32{loc}), 0, 42)

	var file bytes.Buffer
	if err := pprof.Write(&file, set, pprof.WriteOptions{}); err != nil {
		log.Fatal(err)
	}
	again, err := pprof.Read(&file)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(again.Functions[0].Name, again.Totals(0), again.Events[0].Values)
	// Output: main [42] [{samples count}]
}
