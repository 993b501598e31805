// Functions with all kinds of Go names, each of which runs long enough to be
// sampled.
package main

import (
	"fmt"
	"sort"
	"strings"
)

type number interface{ ~int | ~float64 }

type list[T number] []T

//go:noinline
func (l list[T]) sum() (s T) {
	for range 100 {
		for _, v := range l {
			s += v
		}
	}
	return s
}

type byLength []string

func (b *byLength) Len() int           { return len(*b) }
func (b *byLength) Less(i, j int) bool { return len((*b)[i]) < len((*b)[j]) }
func (b *byLength) Swap(i, j int)      { (*b)[i], (*b)[j] = (*b)[j], (*b)[i] }

func main() {
	total := 0
	for k := range 2000 {
		total += list[int]{1, 2, 3, k}.sum() + int(list[float64]{1, 2, float64(k)}.sum())
		words := byLength(strings.Fields(strings.Repeat("a bcd ef ", 30)))
		sort.Sort(&words)
		m := map[string]int{}
		func() {
			for i, w := range words {
				m[fmt.Sprint(w, i)] += i
			}
		}()
		total += len(m)
	}
	fmt.Println(total)
}
