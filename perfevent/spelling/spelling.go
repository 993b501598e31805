// Package spelling finds the names that somebody who mistyped one may have meant.
package spelling

import (
	"cmp"
	"slices"
	"strings"
)

// Most is how many names Closest returns at most.
const Most = 5

// Closest returns those of names that word may have been meant to be, best
// first, each once: those at most a quarter of word's letters away (one where it is
// shorter than eight), whatever their case; if there are none, those that contain
// word, or that it begins with, of at least four letters.
func Closest(word string, names []string) []string {
	type candidate struct {
		name string
		cost int
	}
	if word == "" {
		return nil
	}
	lower, most := strings.ToLower(word), max(1, len(word)/4)
	var found []candidate
	for _, name := range names {
		cost := distance(lower, strings.ToLower(name), most)
		if cost > most {
			contained := len(word) >= 4 && strings.Contains(strings.ToLower(name), lower)
			if !contained && (len(name) < 4 || !strings.HasPrefix(lower, strings.ToLower(name))) {
				continue
			}
			cost = most + max(len(name)-len(word), len(word)-len(name))
		}
		found = append(found, candidate{name, cost})
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(a.name, b.name))
	})
	var best []string
	for _, c := range found {
		if c.cost > most && found[0].cost <= most {
			break
		}
		if len(best) < Most && !slices.Contains(best, c.name) {
			best = append(best, c.name)
		}
	}
	return best
}

// Question is "; did you mean A, B or C?", or nothing without names.
func Question(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "; did you mean " + List(names) + "?"
}

// List is "A, B or C".
func List(names []string) string {
	n := len(names)
	if n < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:n-1], ", ") + " or " + names[n-1]
}

// distance is the number of letters to insert, drop, change or swap with their
// neighbour to make b of a (optimal string alignment); more than most when it is
// more than that. Case matters.
func distance(a, b string, most int) int {
	if d := len(a) - len(b); d > most || -d > most {
		return most + 1
	}
	row, last := make([]int, len(b)+1), make([]int, len(b)+1)
	before := make([]int, len(b)+1) // the row before last
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, before
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		// A swap reaches back one row more.
		if least > most+1 {
			return most + 1
		}
	}
	return row[len(b)]
}
