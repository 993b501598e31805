package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// skipped gathers the tests that were skipped, and why.
type skipped struct {
	all     []string       // a line each
	reasons map[string]int // how often each was given
}

// place is what the testing package puts before a message.
var place = regexp.MustCompile(`^\s*\S+\.go:\d+: `)

// add takes a test with what it said.
func (s *skipped) add(i id, said string) {
	reason, _, _ := strings.Cut(strings.TrimSpace(place.ReplaceAllString(said, "")), "\n")
	if reason == "" {
		reason = "no reason given"
	}
	if s.reasons == nil {
		s.reasons = map[string]int{}
	}
	s.reasons[reason]++
	s.all = append(s.all, fmt.Sprintf("skip %v (%s): %s\n", i, i.run, reason))
}

// print writes a line with the number of tests for each reason, the most frequent
// first, after a line for each test if all are asked for.
func (s *skipped) print(w io.Writer, verbose bool) {
	if len(s.all) == 0 {
		return
	}
	if verbose {
		io.WriteString(w, strings.Join(s.all, ""))
	}
	order := slices.SortedFunc(maps.Keys(s.reasons), func(a, b string) int {
		return cmp.Or(s.reasons[b]-s.reasons[a], strings.Compare(a, b))
	})
	var list []string
	for _, reason := range order {
		list = append(list, fmt.Sprintf("%d %s", s.reasons[reason], reason))
	}
	fmt.Fprintf(w, "skipped: %s\n", strings.Join(list, "; "))
}
