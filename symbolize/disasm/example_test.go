package disasm_test

import (
	"fmt"

	"kprof/symbolize/disasm"
)

// A function that calls another one more, and the row that says so.
func ExampleAlign() {
	base := []disasm.Instruction{{Text: "push %rbx", Key: "push %rbx"}, {Off: 1, Text: "je +0x9", Key: "je ·"}, {Off: 3, Text: "ret", Key: "ret"}}
	new := []disasm.Instruction{base[0], {Off: 1, Text: "call added", Key: "call added"}, {Off: 6, Text: "je +0xe", Key: "je ·"}, {Off: 8, Text: "ret", Key: "ret"}}
	for _, r := range disasm.Align(base, new) {
		if r.Changed() {
			fmt.Println("only in new:", r.New.Text)
		}
	}
	// Output: only in new: call added
}
