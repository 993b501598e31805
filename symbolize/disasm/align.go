package disasm

import "slices"

// Row is an instruction in one build, the other, or both; nil where that build has none.
// If both are there their Keys are the same, or one stands in the other's place (Changed).
type Row struct {
	Base, New *Instruction
}

// Changed tells whether both builds differ in a row.
func (r Row) Changed() bool { return r.Base == nil || r.New == nil || r.Base.Key != r.New.Key }

// mostEdits bounds the time and the memory that Align takes, of which the latter grow
// with its square: functions that differ by more were written anew.
const mostEdits = 2000

// Align puts the instructions of two builds of a function side by side, as many as
// possible beside their equals (Myers, "An O(ND) Difference Algorithm and Its Variations",
// 1986). Of more than a few thousand differences, only what both begin and end with is.
func Align(base, new []Instruction) []Row {
	var rows []Row
	both := func(b, n []Instruction) {
		for i := range b {
			rows = append(rows, Row{&b[i], &n[i]})
		}
	}
	start := 0
	for start < len(base) && start < len(new) && base[start].Key == new[start].Key {
		start++
	}
	both(base[:start], new[:start])
	base, new = base[start:], new[start:]
	end := 0
	for end < len(base) && end < len(new) && base[len(base)-1-end].Key == new[len(new)-1-end].Key {
		end++
	}
	tail, newTail := base[len(base)-end:], new[len(new)-end:]
	base, new = base[:len(base)-end], new[:len(new)-end]
	x, y := 0, 0
	for _, m := range append(matches(base, new), [2]int{len(base), len(new)}) {
		// What was removed and added in one place stands side by side.
		for x < m[0] || y < m[1] {
			var r Row
			if x < m[0] {
				r.Base = &base[x]
				x++
			}
			if y < m[1] {
				r.New = &new[y]
				y++
			}
			rows = append(rows, r)
		}
		if x < len(base) && y < len(new) {
			rows = append(rows, Row{&base[x], &new[y]})
			x, y = x+1, y+1
		}
	}
	both(tail, newTail)
	return rows
}

// matches returns the indices of equal instructions in a shortest edit script, in order.
func matches(base, new []Instruction) (found [][2]int) {
	n, m := len(base), len(new)
	limit := min(n+m, mostEdits)
	// reached[d] has, for the diagonals -d to d, how far in base d edits get.
	var reached [][]int32
	at := func(d, k int) int { // of diagonal k, after d edits
		if d < 0 || k < -d || k > d {
			return -1
		}
		return int(reached[d][k+d])
	}
	for d := 0; d <= limit; d++ {
		row := make([]int32, 2*d+1)
		reached = append(reached, row)
		for k := -d; k <= d; k += 2 {
			x := 0
			if d > 0 {
				x = max(at(d-1, k-1)+1, at(d-1, k+1))
			}
			for x < n && x-k < m && x-k >= 0 && base[x].Key == new[x-k].Key {
				x++
			}
			row[k+d] = int32(x)
			if x < n || x-k < m {
				continue
			}
			// Back from the end.
			for ; d >= 0; d-- {
				from := 0
				next := k
				if d > 0 {
					if a, b := at(d-1, k-1)+1, at(d-1, k+1); a > b {
						from, next = a, k-1
					} else {
						from, next = b, k+1
					}
				}
				for x > from {
					x--
					found = append(found, [2]int{x, x - k})
				}
				k = next
				if d > 0 {
					x = at(d-1, k)
				}
			}
			slices.Reverse(found)
			return found
		}
	}
	return nil
}

// Equal tells whether two builds of a function have the same instructions.
func Equal(base, new []Instruction) bool {
	return slices.EqualFunc(base, new, func(a, b Instruction) bool { return a.Key == b.Key })
}
