package intern_test

import (
	"fmt"
	"hash/maphash"

	"kprof/convert/intern"
)

// Words of a text, each with the number of the place at which it was first seen.
func Example() {
	text := []string{"to", "be", "or", "not", "to", "be"}
	seed, index := maphash.MakeSeed(), intern.NewIndex(16)
	for i, word := range text {
		p := index.Probe(maphash.String(seed, word))
		first, known := p.Next()
		for known && text[first] != word {
			first, known = p.Next()
		}
		if !known {
			first = uint32(i)
			index.Put(p, first)
		}
		fmt.Print(word, first, " ")
	}
	fmt.Println(index.Len())
	// Output: to0 be1 or2 not3 to0 be1 4
}
