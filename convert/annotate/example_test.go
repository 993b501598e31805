package annotate_test

import (
	"log"
	"os"

	"kprof/convert/annotate"
	"kprof/convert/stacks"
)

func ExampleAnnotation_WriteText() {
	set := stacks.New(stacks.Event{Name: "cycles", Values: []stacks.ValueType{{Type: "cycles", Unit: "count"}}})
	a := annotate.Annotation{Total: 100, Listings: []*annotate.Listing{{
		Function: "add", Path: "/usr/bin/sum", Self: 60, Cum: 60,
		Rows: []annotate.Row{
			{Off: 0, Text: "add %rsi,%rdi", Self: 15, Cum: 15, Source: annotate.Source{File: "/src/sum.c", Line: 3}},
			{Off: 3, Text: "mov %rdi,%rax", Self: 45, Cum: 45, Source: annotate.Source{File: "/src/sum.c", Line: 4}},
			{Off: 6, Text: "ret", Source: annotate.Source{File: "/src/sum.c", Line: 4}},
		},
	}}}
	if err := a.WriteText(os.Stdout, set, annotate.TextOptions{}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// Function: add in /usr/bin/sum
	// Event: cycles, cycles of count
	// Total: 60 self, 60 with what it calls, of 100 (60.00%)
	//
	//       self   self%        cum    cum%  offset  source   instruction
	//         15  25.00%         15  25.00%       0  sum.c:3  add %rsi,%rdi
	//         45  75.00%         45  75.00%       3  sum.c:4  mov %rdi,%rax
	//                                             6           ret
}
