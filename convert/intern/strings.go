package intern

// Strings numbers strings in the order in which they are first seen. The zero value has none.
type Strings struct {
	All []string // by number; not to be changed
	ids map[string]uint32
}

// ID returns the number of a string, which gets the next one if it is new.
func (t *Strings) ID(s string) uint32 {
	id, ok := t.ids[s]
	if !ok {
		if t.ids == nil {
			t.ids = make(map[string]uint32)
		}
		id = uint32(len(t.All))
		t.All = append(t.All, s)
		t.ids[s] = id
	}
	return id
}
