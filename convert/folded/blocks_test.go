package folded

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"kprof/convert/stacks"
)

// timedSet has samples of three stacks, two of which read the same, in 64 blocks, and of another event.
func timedSet() *stacks.Set {
	s := stacks.New(stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}},
		stacks.Event{Name: "faults", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	comm := s.InternLabels([]stacks.Label{{Key: "comm", Str: "load"}})
	var ids []stacks.StackID
	for i, name := range []string{"read", "write", "read"} {
		f := s.AddFunction(stacks.Function{Name: name})
		loc := s.AddLocation(stacks.NoMapping, uint64(i), stacks.KindKernel)
		s.SetLines(loc, stacks.Line{Function: f})
		ids = append(ids, s.Intern([]uint32{loc}))
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for block := range uint64(64) {
		for range 1 + rnd.IntN(5) {
			v := int64(1 + rnd.IntN(3)/2)
			s.AddBlockSum(stacks.BlockSum{
				Time: 7<<40 + block<<20, Count: 1, Value: v,
				Sample: uint32(s.Add(0, ids[rnd.IntN(3)], comm, v)),
			})
		}
		s.AddBlockSum(stacks.BlockSum{Time: 7<<40 + block<<20, Count: 1, Value: 1, Sample: uint32(s.Add(1, ids[0], comm, 1))})
	}
	s.SumBlocks()
	s.DurationNanos = 64 << 20
	return s
}

// sumsOf are the sums of an event by the block and the name of the function.
func sumsOf(s *stacks.Set, event int) map[string][2]int64 {
	sums := map[string][2]int64{}
	for _, b := range s.BlockSums {
		if x := s.Sample(int(b.Sample)); x.Event == event {
			name := s.Functions[s.Lines(s.Stack(x.Stack)[0])[0].Function].Name
			key := fmt.Sprint(b.Time, name)
			sums[key] = [2]int64{sums[key][0] + int64(b.Count), sums[key][1] + b.Value}
		}
	}
	return sums
}

func TestHeader(t *testing.T) {
	s := timedSet()
	var plain, with bytes.Buffer
	if err := Write(&plain, s, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := Write(&with, s, Options{Header: true}); err != nil {
		t.Fatal(err)
	}
	first, rest, _ := strings.Cut(with.String(), "\n")
	if !strings.HasPrefix(first, "# kprof: ") || rest != plain.String() {
		t.Fatalf("written is %q", with.String())
	}
	if i := strings.LastIndexByte(first, ' '); strings.Trim(first[i+1:], "0123456789.") == "" {
		t.Errorf("the header ends in a number: %q", first)
	}
	read := func(text string) *stacks.Set {
		t.Helper()
		got, err := Read(strings.NewReader(text), ReadOptions{Comm: true})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	got := read(with.String())
	want := sumsOf(s, 0)
	if have := sumsOf(got, 0); len(want) < 64 || fmt.Sprint(have) != fmt.Sprint(want) {
		t.Errorf("sums %v, want %v", have, want)
	}
	if e := got.Events[0]; e.Name != "cpu-clock" || e.Values[0] != s.Events[0].Values[0] {
		t.Errorf("the event is %v", e)
	}
	if got.DurationNanos != s.DurationNanos {
		t.Errorf("it took %d ns, want %d", got.DurationNanos, s.DurationNanos)
	}
	// With other lines, or in another order, they are those of no line.
	lines := strings.SplitAfter(rest, "\n")
	slices.Reverse(lines)
	for name, text := range map[string]string{
		"without":   rest,
		"reversed":  first + "\n" + strings.Join(lines, ""),
		"a weight":  strings.Replace(with.String(), "\n", "1\n", 2),
		"more":      with.String() + "x 1\n",
		"cut off":   strings.Replace(with.String(), first, first[:len(first)-2], 1),
		"not first": rest + first + "\n",
	} {
		if text == with.String() {
			t.Errorf("%s: nothing is changed", name)
		}
		if got := read(text); len(got.BlockSums) != 0 || got.NumSamples() == 0 {
			t.Errorf("%s: %d sums", name, len(got.BlockSums))
		}
	}
	// Lines end otherwise on other systems, which is no change.
	if got := read(strings.ReplaceAll(with.String(), "\n", "\r\n")); len(got.BlockSums) == 0 {
		t.Error("no sums with ends of lines as Windows has them")
	}
}

// TestHeaderColumn: the sums are of the samples' weight, and of no other column.
func TestHeaderColumn(t *testing.T) {
	s := stacks.New(stacks.Event{Name: "off-cpu", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}, {Type: "time", Unit: "nanoseconds"}}})
	f := s.AddFunction(stacks.Function{Name: "wait"})
	loc := s.AddLocation(stacks.NoMapping, 1, stacks.KindKernel)
	s.SetLines(loc, stacks.Line{Function: f})
	id := s.Intern([]uint32{loc})
	for i := range uint64(64) {
		row := s.Add(0, id, 0, 1, 1000)
		s.AddBlockSum(stacks.BlockSum{Time: 1<<30 + i<<20, Count: 1, Value: 1000, Sample: uint32(row)})
	}
	s.SumBlocks()
	for column, want := range []bool{false, true} {
		var b bytes.Buffer
		if err := Write(&b, s, Options{Column: column, Header: true}); err != nil {
			t.Fatal(err)
		}
		got, err := Read(&b, ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(got.BlockSums) > 0 != want || got.NumSamples() != 1 {
			t.Errorf("column %d: %d sums", column, len(got.BlockSums))
		}
	}
}
