package table_test

import (
	"log"
	"os"
	"strings"

	"kprof/convert/folded"
	"kprof/convert/table"
)

func ExampleTop() {
	set, err := folded.Read(strings.NewReader("sh;main;parse 1\nsh;main;read;vfs_read_[k] 3\n"), folded.ReadOptions{Comm: true})
	if err != nil {
		log.Fatal(err)
	}
	if err := table.Top(os.Stdout, set, table.TopOptions{Sort: table.ByCum, Limit: 2}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// Event: samples, samples of count
	// Total: 4 in 4 functions
	//
	//       self   self%        cum    cum%  mapping    function
	//          0   0.00%          4 100.00%  [unknown]  main
	//          3  75.00%          3  75.00%  [unknown]  vfs_read_[k]
}
