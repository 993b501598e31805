package page_test

import (
	"bytes"
	"fmt"
	"log"
	"strings"

	"kprof/convert/folded"
	"kprof/convert/page"
)

func ExampleWrite() {
	set, err := folded.Read(strings.NewReader("sh;main;parse 1\nsh;main;read;vfs_read_[k] 3\n"), folded.ReadOptions{Comm: true})
	if err != nil {
		log.Fatal(err)
	}
	var html bytes.Buffer
	if err := page.Write(&html, set, page.Options{Title: "A shell"}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Contains(html.String(), "<title>A shell"))
	// Output: true
}
