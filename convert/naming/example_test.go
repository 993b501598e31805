package naming_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"kprof/convert/naming"
	"kprof/convert/stacks"
	"kprof/symbolize"
)

// An address of the kernel, named by the symbols of another machine.
func Example() {
	set := stacks.New(stacks.Event{Name: "cycles", Values: []stacks.ValueType{{Type: "cycles", Unit: "count"}}})
	kernel := set.AddMapping(stacks.Mapping{File: "[kernel.kallsyms]", Kind: stacks.KindKernel, Start: 0xffffffff81000000, Limit: 0xffffffff82000000})
	loc := set.AddLocation(kernel, 0xffffffff81000110, stacks.KindKernel)

	sym := symbolize.New(symbolize.Options{Foreign: true, Kallsyms: strings.NewReader(
		"ffffffff81000000 T _text\nffffffff81000100 T vfs_read\nffffffff81000200 T vfs_write\nffffffff81000300 T _etext\n")})
	defer sym.Close()
	missing, err := naming.Name(context.Background(), set, sym)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(set.Functions[set.Lines(loc)[0].Function].Name, len(missing), "mappings with names missing")
	// Output: vfs_read 0 mappings with names missing
}
