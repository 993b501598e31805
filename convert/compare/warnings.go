package compare

import (
	"kprof/convert"
)

// SideWarning is what several profiles of a side lack alike.
type SideWarning struct {
	convert.Warning     // the first, or of names that with the largest share; Count is the sum
	Profiles        int // how many have it
	Files           int // of names: in how many files they are missing
}

// Warnings merges the warnings of profiles: those of one kind and event, and of names
// those of all files, become one.
func Warnings(profiles []*convert.Profile) []SideWarning {
	type key struct {
		kind  convert.WarningKind
		event string
	}
	var merged []SideWarning
	at := map[key]int{}
	files := map[key]map[string]bool{}
	for _, p := range profiles {
		here := map[key]bool{}
		for _, w := range p.Warnings {
			if w.Kind.IsMissing() && !w.Shown() {
				continue
			}
			k := key{w.Kind, w.Event}
			i, ok := at[k]
			if !ok {
				i = len(merged)
				at[k] = i
				merged = append(merged, SideWarning{Warning: w})
				files[k] = map[string]bool{}
			} else {
				m := &merged[i]
				sum := m.Count + w.Count
				if w.Share > m.Share {
					m.Warning = w
				}
				m.Count = sum
			}
			files[k][w.File] = true
			merged[i].Files = len(files[k])
			if !here[k] {
				here[k] = true
				merged[i].Profiles++
			}
		}
	}
	return merged
}
