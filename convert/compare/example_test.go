package compare_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"kprof/convert"
	"kprof/convert/compare"
	"kprof/convert/diff"
)

// Two builds of a program, one run each, and what became of their functions.
func ExampleNew() {
	read := func(name, text string) []*convert.Profile {
		p, err := convert.Read(context.Background(), strings.NewReader(text), convert.Options{Name: name})
		if err != nil {
			log.Fatal(err)
		}
		return []*convert.Profile{p}
	}
	c, err := compare.New([2][]*convert.Profile{
		read("old", "main;parse 5000\nmain;read 5000\n"),
		read("new", "main;parse 7000\nmain;read 5000\n"),
	}, compare.Options{Diff: diff.Defaults})
	if err != nil {
		log.Fatal(err)
	}
	r, err := c.Compare()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Event.Name, "of", r.Base.Runs, "and", r.New.Runs)
	for _, f := range r.Functions {
		fmt.Printf("%s: %v, %+.1f%%\n", f.Name, f.Verdict, 100*f.Changed().Diff)
	}
	// Output:
	// samples of [old] and [new]
	// parse: more, +8.3%
	// read: share only, -8.3%
	// main: noise, +0.0%
}
