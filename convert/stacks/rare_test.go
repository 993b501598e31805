package stacks

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// rareRow is a row as it is known to the test: its stack from the root on.
type rareRow struct {
	event         int
	stack, labels string
}

// rareSet returns a Set of random rows, of a tree in which some paths are much more used than
// others, and the sums of their values.
func rareSet(r *rand.Rand, rows int) (s *Set, merged uint32, sums map[rareRow][2]int64) {
	columns := []ValueType{{"samples", "count"}, {"time", "nanoseconds"}}
	s = New(Event{Name: "a", Values: columns}, Event{Name: "b", Values: columns})
	for range 'z' + 1 - 'a' {
		s.AddLocation(NoMapping, 0, KindUnknown)
	}
	merged = s.AddLocation(NoMapping, 0, KindUnknown)
	sums = map[rareRow][2]int64{}
	for range rows {
		var text []byte
		for range r.IntN(8) {
			text = append(text, 'a'+byte(min(r.ExpFloat64()*2, 25)))
		}
		row := rareRow{r.IntN(2), string(text), fmt.Sprint(int(r.ExpFloat64() * 10))}
		stack := make([]uint32, 0, len(text))
		for _, c := range slices.Backward(text) {
			stack = append(stack, uint32(c-'a'))
		}
		labels := s.InternLabels([]Label{{Key: "comm", Str: "x"}, {Key: "pid", Str: row.labels}})
		n, v := 1+r.Int64N(3), r.Int64N(1000)
		at := s.Add(row.event, s.Intern(stack), labels, n, v)
		s.AddTimedSample(TimedSample{Time: 1, Sample: uint32(at), Value: n})
		s.AddBlockSum(BlockSum{Time: 1, Sample: uint32(at), Count: 1, Value: n})
		old := sums[row]
		sums[row] = [2]int64{old[0] + n, old[1] + v}
	}
	return s, merged, sums
}

// rowsOf are the rows of a Set as the test knows them. What was merged is a frame '#'.
func rowsOf(s *Set, merged uint32) map[rareRow][2]int64 {
	rows := map[rareRow][2]int64{}
	for i := range s.NumSamples() {
		x := s.Sample(i)
		var text []byte
		for _, loc := range slices.Backward(s.Stack(x.Stack)) {
			if loc == merged {
				text = append(text, '#')
			} else {
				text = append(text, 'a'+byte(loc))
			}
		}
		pid, _ := s.Label(x.Labels, "pid")
		rows[rareRow{x.Event, string(text), pid.Str}] = [2]int64{x.Values[0], x.Values[1]}
	}
	return rows
}

// mergeByHand says what rows are to become: a stack ends above the first of its frames of which
// the path from the root on has at most so many samples; a list of labels that has no more
// loses the pid.
func mergeByHand(sums map[rareRow][2]int64, most int64) map[rareRow][2]int64 {
	paths, labels := map[string]int64{}, map[string]int64{}
	for row, v := range sums {
		for n := range len(row.stack) {
			paths[row.stack[:n+1]] += v[0]
		}
		labels[row.labels] += v[0]
	}
	to := map[rareRow][2]int64{}
	for row, v := range sums {
		for n := range len(row.stack) {
			if paths[row.stack[:n+1]] <= most {
				row.stack = row.stack[:n] + "#"
				break
			}
		}
		if labels[row.labels] <= most {
			row.labels = ""
		}
		old := to[row]
		to[row] = [2]int64{old[0] + v[0], old[1] + v[1]}
	}
	return to
}

func commAlone(l []Label) []Label { return l[:1] }

// TestMergeRare: what a Set has when what has at most so many samples is merged is what
// mergeByHand says, once and again with more; samples with times are in the rows that they went to.
func TestMergeRare(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 30 {
		s, merged, want := rareSet(r, 1+r.IntN(3000))
		for most := int64(1); most < 20000; most *= 1 + 2*r.Int64N(4) {
			before := s.NumStacks()
			shortened, _ := s.mergeUpTo(most, &Rare{Merged: merged, Fewer: commAlone})
			want = mergeByHand(want, most)
			if got := rowsOf(s, merged); !maps.Equal(got, want) || len(got) != s.NumSamples() {
				t.Fatalf("up to %d samples, there are %d rows:\n%v\nwant\n%v", most, s.NumSamples(), got, want)
			}
			if shortened > before || shortened == 0 && s.NumStacks() != before {
				t.Errorf("%d of %d stacks were shortened, there are %d", shortened, before, s.NumStacks())
			}
			times, sums := make([]int64, s.NumSamples()), make([]int64, s.NumSamples())
			for _, m := range s.TimedSamples {
				times[m.Sample] += m.Value
			}
			for _, b := range s.BlockSums {
				sums[b.Sample] += b.Value
			}
			for i := range times {
				if n := s.Sample(i).Values[0]; times[i] != n || sums[i] != n {
					t.Fatalf("row %d has %d samples, %d with times, %d in blocks", i, n, times[i], sums[i])
				}
			}
			if most == 1 {
				most = 1 + r.Int64N(2)
			}
		}
	}
}

// TestMergeRareLimit: a Set becomes as small as asked, or all of it one stack an event; nothing is
// done to one that is small enough.
func TestMergeRareLimit(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	s, merged, sums := rareSet(r, 60000)
	if n, _ := s.MergeRare(Rare{Limit: s.RowsSize(), Merged: merged}); n != 0 || !maps.Equal(rowsOf(s, merged), sums) {
		t.Errorf("%d stacks of a small Set were shortened", n)
	}
	before := s.RowsSize()
	n, most := s.MergeRare(Rare{Limit: before / 2, Merged: merged, Fewer: commAlone})
	if n == 0 || s.RowsSize() > before/2 || most <= 1 {
		t.Errorf("of %d bytes there are %d, %d stacks were shortened, up to %d samples", before, s.RowsSize(), n, most)
	}
	if got := len(rowsOf(s, merged)); got < 100 {
		t.Errorf("%d rows are left", got)
	}
	s.MergeRare(Rare{Merged: merged, Fewer: commAlone})
	want := mergeByHand(sums, 1<<40)
	if got := rowsOf(s, merged); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
