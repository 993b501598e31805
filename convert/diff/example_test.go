package diff_test

import (
	"fmt"
	"log"
	"strings"

	"kprof/convert/diff"
	"kprof/convert/folded"
)

func ExampleCompare() {
	read := func(text string) []diff.Run {
		set, err := folded.Read(strings.NewReader(text), folded.ReadOptions{})
		if err != nil {
			log.Fatal(err)
		}
		return []diff.Run{{Name: "a run", Set: set}}
	}
	result, err := diff.Compare(read("main;parse 5000\nmain;read 5000\n"), read("main;parse 7000\nmain;read 5000\n"), diff.Defaults)
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range result.Functions {
		fmt.Printf("%s: %v, %+.1f%%\n", f.Name, f.Verdict, 100*f.Changed().Diff)
	}
	// Output:
	// parse: more, +8.3%
	// read: share only, -8.3%
	// main: noise, +0.0%
}
