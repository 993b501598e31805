package doctor_test

import (
	"fmt"

	"kprof/record/doctor"
)

// What this machine lets this process record, and how to get the rest.
func Example() {
	groups := map[string]int{}
	for _, f := range doctor.Examine() {
		if !f.OK && f.Detail == "" {
			fmt.Println(f.What, "is missing without a reason")
		}
		groups[f.Group]++
	}
	fmt.Println(groups["events"] > 0, groups["limits"] > 0)
	// Output: true true
}
