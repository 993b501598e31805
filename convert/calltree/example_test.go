package calltree_test

import (
	"fmt"
	"log"
	"strings"

	"kprof/convert/calltree"
	"kprof/convert/folded"
)

func ExampleNew() {
	set, err := folded.Read(strings.NewReader("sh;main;parse 1\nsh;main;read;vfs_read_[k] 3\n"), folded.ReadOptions{Comm: true})
	if err != nil {
		log.Fatal(err)
	}
	tree, err := calltree.New(set, calltree.Options{Comm: true})
	if err != nil {
		log.Fatal(err)
	}
	for _, n := range tree.Nodes[1:] {
		fmt.Printf("%*s%s: %d, self %d (%v)\n", 2*(n.Depth-1), "", tree.Names[n.Name], n.Value, n.Self, n.Kind)
	}
	// Output:
	// sh: 4, self 0 (process)
	//   main: 4, self 0 (unknown)
	//     parse: 1, self 1 (unknown)
	//     read: 3, self 0 (unknown)
	//       vfs_read_[k]: 3, self 3 (kernel)
}
