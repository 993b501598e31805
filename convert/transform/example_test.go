package transform_test

import (
	"fmt"
	"log"
	"os"
	"strings"

	"kprof/convert/folded"
	"kprof/convert/transform"
)

func ExampleApply() {
	set, err := folded.Read(strings.NewReader("main;parse;malloc 2\nmain;read;vfs_read_[k];copy_[k] 3\nidle 7\n"), folded.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	focus, err := transform.Parse(transform.ShowFrom, "^(parse|read)$")
	if err != nil {
		log.Fatal(err)
	}
	collapse, err := transform.Parse(transform.Collapse, transform.Kernel)
	if err != nil {
		log.Fatal(err)
	}
	if err := transform.Apply(set, []transform.Transform{focus, collapse}, nil); err != nil {
		log.Fatal(err)
	}
	if err := folded.Write(os.Stdout, set, folded.Options{}); err != nil {
		log.Fatal(err)
	}
	fmt.Println("samples:", set.NumSamples())
	// Output:
	// parse;malloc 2
	// read;[kernel] 3
	// samples: 2
}
