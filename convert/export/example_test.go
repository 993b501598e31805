package export_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"kprof/convert"
	"kprof/convert/export"
)

// What the name of a file asks for, of any input.
func Example() {
	format, _ := export.Of("cpu.folded")
	o := convert.Options{Unnamed: true}
	format.Needs(&o, false)
	p, err := convert.Open(context.Background(), "../../testdata/demo.data", o)
	if err != nil {
		log.Fatal(err)
	}
	var out bytes.Buffer
	shown := p.Choose(nil)
	if _, err := export.Write(&out, p, export.Options{Format: format, Event: shown.Event, Column: shown.Column}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Set.Events[shown.Event].Name, shown.Samples, bytes.Count(out.Bytes(), []byte("\n")) > 0)
	// Output: cpu-clock 199 true
}
