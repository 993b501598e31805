package record

import (
	"fmt"
	"strings"
	"testing"
)

// matches evaluates a filter like those of wakeups, in which all operators are the same.
func matches(t *testing.T, filter string, fields map[string]int) bool {
	t.Helper()
	is := func(term string) bool {
		var name, op string
		var n int
		if _, err := fmt.Sscanf(term, "%s %s %d", &name, &op, &n); err != nil {
			t.Fatalf("%q: %v", term, err)
		}
		v, ok := fields[name]
		if !ok {
			t.Fatalf("%q: no field", term)
		}
		switch op {
		case ">":
			return v > n
		case "<=":
			return v <= n
		case "==":
			return v == n
		case "!=":
			return v != n
		}
		t.Fatalf("%q: operator", term)
		return false
	}
	if strings.Contains(filter, "||") {
		for term := range strings.SplitSeq(filter, " || ") {
			if is(term) {
				return true
			}
		}
		return false
	}
	for term := range strings.SplitSeq(filter, " && ") {
		if !is(term) {
			return false
		}
	}
	return true
}

// TestWakeupFilters: of two filters just one takes a hit, and the first all of threads that are
// recorded from the start, or begin later.
func TestWakeupFilters(t *testing.T) {
	several, many := map[int]int{}, map[int]int{}
	for i := range 5 {
		several[100+3*i] = 100
	}
	for i := range 3 * maxNumbers {
		many[200+2*i] = 200
	}
	for _, threads := range []map[int]int{{500: 500}, {1001: 1000, 1000: 1000}, several, many} {
		w := &wakeups{last: 1000, most: 32768, threads: threads}
		match, rest := w.filters()
		if len(match) > 4000 || len(rest) > 4000 { // kernel/events/core.c, perf_event_set_filter takes a page
			t.Fatalf("%d and %d bytes", len(match), len(rest))
		}
		for pid := range 1010 {
			for _, current := range []int{0, 1, pid, 50, 999, 1000, 1001, 30000} {
				one, other := matches(t, match, map[string]int{"pid": pid, "common_pid": current}), matches(t, rest, map[string]int{"pid": pid, "common_pid": current})
				_, woken := threads[pid]
				_, wakes := threads[current]
				if one == other || (woken || wakes || pid > w.last || current > w.last) && !one {
					t.Fatalf("%v: pid %d, common_pid %d: %v of %q, %v of %q", threads, pid, current, one, match, other, rest)
				}
			}
		}
		if matches(t, match, map[string]int{"pid": 50, "common_pid": 0}) {
			t.Errorf("%q takes a hit of a thread that is older than all", match)
		}
	}
	for _, w := range []wakeups{{most: 32768}, {last: 1000}, {last: 30000, most: 32768}, {last: 4194304 - 60000, most: 4194304}} {
		w.threads = several
		if match, rest := w.filters(); match != "" || rest != "" {
			t.Errorf("%+v: %q", w, match)
		}
	}
}
