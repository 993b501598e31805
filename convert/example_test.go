package convert_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"kprof/convert"
	"kprof/convert/flamegraph"
	"kprof/symbolize"
)

// From a recording of another machine to a flame graph. On the machine that recorded,
// Options say nothing.
func ExampleOpen() {
	p, err := convert.Open(context.Background(), "../testdata/demo.data", convert.Options{
		Symbols: symbolize.Options{KallsymsPath: "../testdata/demo.kallsyms", Root: "../testdata/symfs"},
	})
	if err != nil {
		log.Fatal(err)
	}
	var picture bytes.Buffer // a file's name ends in .svg
	event, column := p.MainEvent()
	if _, err := flamegraph.Write(&picture, p.Set, flamegraph.Options{Event: event, Column: column, Title: p.Source}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Set.Events[event].Name, p.Set.SampleCounts()[event], bytes.Contains(picture.Bytes(), []byte("</svg>")))
	for _, w := range p.Warnings {
		fmt.Println(&w)
	}
	// Output:
	// cpu-clock 199 true
}
