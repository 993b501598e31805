package diffreport_test

import (
	"log"
	"os"
	"strings"

	"kprof/convert/diff"
	"kprof/convert/diffreport"
	"kprof/convert/folded"
)

// compare compares folded stacks.
func compare(texts ...string) (*diff.Result, error) {
	var sides [2][]diff.Run
	for i, text := range texts {
		set, err := folded.Read(strings.NewReader(text), folded.ReadOptions{})
		if err != nil {
			return nil, err
		}
		sides[i] = []diff.Run{{Name: "a run", Set: set}}
	}
	return diff.Compare(sides[0], sides[1], diff.Defaults)
}

func ExampleText() {
	result, err := compare("main;parse 5000\nmain;read 5000\n", "main;parse 7000\nmain;read 5000\n")
	if err != nil {
		log.Fatal(err)
	}
	if err := diffreport.Text(os.Stdout, result, diffreport.Options{Width: 80}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// Verdict: Changed: parse +8.33% of the total (×1.17) in main; total 10000 samples
	//   → 12000 samples a run (×1.20, of one run a side); differences under 2.8% of
	//   the total could not be told; for 1% record 8 runs of each side.
	//
	// Event: samples, samples of count, share of the total
	// Base:  10000 samples: a run
	// New:   12000 samples: a run
	// Costs are shares of the total, self or with what is called (cum); diff and its
	//   interval are in percent of the base's total, new:base is the ratio of what
	//   changed.
	// Intervals of 95%: from the number of samples, assumed to have 3 times the
	//   variance of independent ones, since without their times it cannot be measured
	//   (recordings have these, and kprof's pprof, pages, and folded stacks with a
	//   header).
	// What changed is not chance (p at most 0.05 for all 3 differences together, by
	//   Holm), and at least 0.25% of the base's total.
	//
	// 1 function changed, and besides 1 in the share only, since others cost more or
	//   less; more: parse +8.33%; share only: read -8.33%.
	//
	// self base     new     diff     95% new:base cum diff  verdict function
	//    50.00%  58.33%   +8.33%  ±2.29%    ×1.17   +8.33%  more    parse
	//    50.00%  41.67%   -8.33%  ±2.29%    ×0.83   -8.33%  share   read
	//
	// parse
	//    50.00%    58.33%    +8.33%  main;parse
	//
	// read
	//    50.00%    41.67%    -8.33%  main;read
	//
	// Noise: 1 function whose difference chance explains, or that is too small.
}
