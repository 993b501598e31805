//go:build linux

package count_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"kprof/perfevent/count"
)

// Page faults of this process while it touches fresh memory.
func Example() {
	groups, err := count.ParseGroups("page-faults:u")
	if err != nil {
		log.Fatal(err)
	}
	s, err := count.Open(context.Background(), count.Options{Groups: groups, Target: count.Target{PIDs: []int{os.Getpid()}}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if err := s.Enable(); err != nil {
		log.Fatal(err)
	}
	touched := make([]byte, 64<<20)
	for i := 0; i < len(touched); i += os.Getpagesize() {
		touched[i] = 1
	}
	readings, err := s.Read()
	if err != nil {
		log.Fatal(err)
	}
	var total count.Total
	for _, r := range readings {
		total.Add(r)
	}
	fmt.Println(s.Events()[0].Name, total.Counted() && total.Value > 0)
	// Output: page-faults:u true
}
