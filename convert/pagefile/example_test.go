package pagefile_test

import (
	"bytes"
	"log"
	"os"
	"strings"

	"kprof/convert/folded"
	"kprof/convert/page"
	"kprof/convert/pagefile"
)

// A page has the whole profile in it.
func ExampleRead() {
	set, err := folded.Read(strings.NewReader("sh;main;read 3\nsh;main 1\n"), folded.ReadOptions{Comm: true})
	if err != nil {
		log.Fatal(err)
	}
	var html bytes.Buffer
	if err := page.Write(&html, set, page.Options{}); err != nil {
		log.Fatal(err)
	}
	again, err := pagefile.Read(&html, pagefile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	if err := folded.Write(os.Stdout, again, folded.Options{}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// sh;main 1
	// sh;main;read 3
}
