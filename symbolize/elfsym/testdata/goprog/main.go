// A Go program that tells what the runtime knows of its own code: for each
// address from its first argument up to its second, both counted from the
// start of main.main, it prints the innermost function, its start line, and
// the source position.
package main

import (
	"bufio"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strconv"
)

type generic[V any] struct{ v V }

//go:noinline
func (t *generic[V]) method(f func()) { f() }

func inlined(n int) int { return deeper(n) + 1 }

func deeper(n int) int {
	if n > 3 {
		return deepest(n)
	}
	return n
}

func deepest(n int) int { return sink(n) * 2 }

//go:noinline
func sink(n int) int { return n + 1 }

func main() {
	var from, to int64
	(&generic[string]{}).method(func() {
		from, _ = strconv.ParseInt(os.Args[1], 0, 64)
		to, _ = strconv.ParseInt(os.Args[2], 0, 64)
	})
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	base := int64(reflect.ValueOf(main).Pointer())
	for off := from; off < to; off++ {
		// What Callers returns are addresses behind calls, save those at which
		// a function starts.
		pc := uintptr(base+off) + 1
		if fn := runtime.FuncForPC(pc); fn != nil && fn.Entry() == pc {
			fmt.Fprintln(out)
			continue
		}
		frames := runtime.CallersFrames([]uintptr{pc})
		f, _ := frames.Next()
		fmt.Fprintln(out, off, f.Function, reflect.ValueOf(f).FieldByName("startLine").Int(), f.File, f.Line)
	}
	fmt.Fprintln(out, inlined(len(os.Args)))
}
