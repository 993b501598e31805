package spanrule

import (
	"errors"
	"fmt"
	"strings"

	"kprof/perfevent/format/expr"
)

// Memory says what of a call that allocates or frees memory a Side is.
type Memory uint8

const (
	NotMemory Memory = iota
	Allocates        // the entry of a function that gives Bytes, and takes back what is at Key
	Allocated        // its return: Key is what it gave, 0 for nothing
	Frees            // the entry of a function that takes back what is at Key
)

// The fields of the probes: how many bytes, which are factors of each other, what is taken
// back, where the address of what is given goes, and what is returned.
const (
	bytesField   = "kprof_bytes"
	countField   = "kprof_count"
	addressField = "kprof_address"
	// SlotField is where posix_memalign puts the address, which is no result: mostly a
	// variable of the caller. StackFields are how the fields with the caller's stack begin,
	// from where the stack pointer is on return on, of which there are StackSlots.
	SlotField   = "kprof_slot"
	StackFields = "kprof_stack"
	StackSlots  = 24
	returnField = "kprof_ret"
)

// allocators are the functions of the C library that allocate, each with its arguments
// (stdlib.h, malloc.h). Others of the same names do the same.
var allocators = []struct{ name, args string }{
	{"malloc", bytesField + "=$arg1"},
	{"calloc", countField + "=$arg1 " + bytesField + "=$arg2"},
	{"realloc", addressField + "=$arg1 " + bytesField + "=$arg2"},
	{"reallocarray", addressField + "=$arg1 " + countField + "=$arg2 " + bytesField + "=$arg3"},
	{"posix_memalign", SlotField + "=$arg1 " + bytesField + "=$arg3"},
	{"aligned_alloc", bytesField + "=$arg2"},
	{"memalign", bytesField + "=$arg2"},
	{"valloc", bytesField + "=$arg1"},
	{"pvalloc", bytesField + "=$arg1"},
}

// malloc reads the path of a program or library whose functions allocate.
func (r *Rule) malloc(path string) error {
	if path == "" || strings.ContainsAny(path, " \t,") {
		return errors.New("wants span:malloc:PATH, the C library or a program that has its own malloc")
	}
	r.Value = mustExpr(bytesField)
	var f Family
	side := func(event, args string, m Memory, key string) Side {
		s := Side{
			Event: event, Spec: strings.TrimSpace(event + " " + placeField + "=$stack " + args), Memory: m,
			Place: mustExpr(placeField), Optional: !strings.HasSuffix(event, ":malloc") && !strings.HasSuffix(event, ":free"),
		}
		if key != "" {
			s.Key = []*expr.Expr{mustExpr(key)}
		}
		return s
	}
	for _, a := range allocators {
		entry := side("uprobe:"+path+":"+a.name, a.args, Allocates, "")
		if strings.Contains(a.args, addressField) {
			entry.Key = []*expr.Expr{mustExpr(addressField)}
		}
		bytes := bytesField
		if strings.Contains(a.args, countField) {
			bytes = countField + " * " + bytesField
		}
		entry.Bytes = mustExpr(bytes)
		returned := returnField + "=$retval"
		if strings.Contains(a.args, SlotField) {
			returned += stackArgs()
		}
		f.Starts = append(f.Starts, entry, side("uretprobe:"+path+":"+a.name, returned, Allocated, returnField))
	}
	f.Ends = []Side{side("uprobe:"+path+":free", addressField+"=$arg1", Frees, addressField)}
	r.Families = []Family{f}
	return nil
}

// stackArgs fetch the caller's stack.
func stackArgs() string {
	var b strings.Builder
	for i := range StackSlots {
		fmt.Fprintf(&b, " %s%d=$stack%d", StackFields, i, i)
	}
	return b.String()
}
