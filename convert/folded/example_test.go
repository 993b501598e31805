package folded_test

import (
	"log"
	"os"
	"strings"

	"kprof/convert/folded"
)

// Equal stacks become one line, and lines are sorted.
func ExampleWrite() {
	set, err := folded.Read(strings.NewReader("sh;main;read 3\nsh;main 1\nsh;main;read 4\n"), folded.ReadOptions{Comm: true})
	if err != nil {
		log.Fatal(err)
	}
	if err := folded.Write(os.Stdout, set, folded.Options{}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// sh;main 1
	// sh;main;read 7
}
