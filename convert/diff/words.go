package diff

import (
	"math"
	"strings"
)

// names are the words of the names of functions, by their numbers.
type names [][]word

// word is a part of a name, and what it says: its letters, and how rare it is.
type word struct {
	text   string
	weight float64
}

const (
	// fewNames are too few to tell from them how rare a word is.
	fewNames = 1000
	// mostWords of a name are looked at.
	mostWords = 64
)

func newNames(functions []string) names {
	n := make(names, len(functions))
	having := make(map[string]int) // how many names have a word
	for fn, name := range functions {
		for _, text := range words(name) {
			n[fn] = append(n[fn], word{text: text})
			having[text]++
		}
	}
	all := float64(max(len(functions), fewNames))
	for _, words := range n {
		for i := range words {
			w := &words[i]
			w.weight = float64(len(w.text)) * math.Log1p(all/float64(having[w.text]))
		}
	}
	return n
}

// words is how many words the names of some functions have.
func (n names) words(fns []uint32) (sum int) {
	for _, fn := range fns {
		sum += len(n[fn])
	}
	return sum
}

// first is as many of the first functions as have no more words than that.
func (n names) first(fns []uint32, words int) []uint32 {
	for i, fn := range fns {
		if words -= len(n[fn]); words < 0 {
			return fns[:i]
		}
	}
	return fns
}

// similar is how like the names of two functions are, from 0 to 1: how much of them is in
// words that both have, in whatever order.
func (n names) similar(a, b uint32) float64 {
	y := n[b]
	var all, shared float64
	var taken [mostWords]bool
	for i := range y {
		all += y[i].weight
	}
	for _, x := range n[a] {
		all += x.weight
		best, at := 0.0, 0
		for i := range y {
			if s := sameWord(x.text, y[i].text); s > best && !taken[i] {
				best, at = s, i
			}
		}
		if best > 0 {
			taken[at] = true
			shared += best * (x.weight + y[at].weight)
		}
	}
	if all == 0 {
		return 0
	}
	return shared / all
}

// aPartOf is what a word that begins or ends another is worth, or stands for it.
const aPartOf = 0.75

func sameWord(a, b string) float64 {
	const shortest = 3
	switch {
	case a == b:
		return 1
	case len(a) < shortest || len(b) < shortest:
		return 0
	case a[0] != b[0] && a[len(a)-1] != b[len(b)-1] && a[0] != 'p': // most words: none of what follows
		return 0
	case strings.HasPrefix(a, b) || strings.HasPrefix(b, a) || strings.HasSuffix(a, b) || strings.HasSuffix(b, a):
		return aPartOf
	case (a == "page" || a == "pages") && strings.HasPrefix(b, "folio"): // since 5.16 pages became folios
		return aPartOf
	case a == "pagevec" && b == "batch": // and vectors of pages batches of folios
		return aPartOf
	}
	return 0
}

func words(name string) []string {
	all := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return strings.ContainsRune("_.:<>(), ", r) })
	return all[:min(len(all), mostWords)]
}
