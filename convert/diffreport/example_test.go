package diffreport_test

import (
	"log"
	"os"
	"strings"

	"kprof/convert/diff"
	"kprof/convert/diffreport"
	"kprof/convert/folded"
)

func ExampleText() {
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
	if err := diffreport.Text(os.Stdout, result, diffreport.Options{Width: 80}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// Event: samples, samples of count, share of the total
	// Base:  10000 samples: a run
	// New:   12000 samples: a run
	// Intervals of 95% from the number of samples, assumed to have 3 times the
	//   variance of independent ones, since without their times it cannot be measured.
	// What changed is not chance (p at most 0.05 for all 3 differences together, by
	//   Holm), and at least 1.00% of the base's total.
	//
	// 2 functions changed; more: parse +8.33%; less: read -8.33%.
	//
	// self base     new     diff     95% cum diff  verdict function
	//    50.00%  58.33%   +8.33%  ±2.29%   +8.33%  more    parse
	//    50.00%  41.67%   -8.33%  ±2.29%   -8.33%  less    read
	//
	// parse
	//    50.00%    58.33%    +8.33%  main;parse
	//
	// read
	//    50.00%    41.67%    -8.33%  main;read
	//
	// Noise: 1 functions whose differences chance explains, or that are too small; 0
	//   of them:
}
