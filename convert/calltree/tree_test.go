package calltree

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/convert/stacks"
	"kprof/convert/stacks/stackstest"
)

// drawTree writes a line for each node: its name, indented, its value, what of it
// ends there, and its kind unless that is user code.
func drawTree(t *Tree) string {
	var b strings.Builder
	for i, n := range t.Nodes {
		name := "all"
		if i > 0 {
			name = t.Names[n.Name]
		}
		fmt.Fprintf(&b, "%s%s %d", strings.Repeat("  ", int(n.Depth)), name, n.Value)
		if t.Base != nil {
			fmt.Fprintf(&b, " was %d", t.Base[i])
		}
		if t.Start != nil {
			fmt.Fprintf(&b, " from %d", t.Start[i])
		}
		if n.Self != 0 {
			fmt.Fprintf(&b, " self %d", n.Self)
		}
		if i > 0 && n.Kind != FrameUser {
			fmt.Fprintf(&b, " %v", n.Kind)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestTree(t *testing.T) {
	tests := []struct {
		name string
		o    Options
		want string
	}{
		{"by function", Options{}, `
all 1023
  [unknown] 256 self 256 unknown
  clock 64
    folded 64 unknown
      folded_[k] 64 self 64 kernel
  jitted 32 JIT
    guest 32 self 32 guest
  main 671 self 4
    [x.so] 128 self 128
    main 512 self 512
    vfs_read 24 kernel
      bpf_prog 16 self 16 BPF
      ext4_read 8 self 8 module
    work 3
      tiny 3 self 3 inlined
`},
		{"other event", Options{Event: 1}, `
all 7
  vfs_read 7 self 7 kernel
`},
		{"other column, comms, what is large", Options{Column: 1, Comm: true, Min: 2400. / 102300}, `
all 102300
  a 51100 self 25600 process
    clock 6400
      folded 6400 unknown
        folded_[k] 6400 self 6400 kernel
    jitted 3200 JIT
      guest 3200 self 3200 guest
    main 15900 self 400
      [x.so] 12800 self 12800
      vfs_read 2400 kernel
  main 51200
    main 51200 self 51200
`},
		{"callers", Options{Reverse: true, Comm: true, Min: 3. / 1023}, `
all 1023
  [x.so] 128
    main 128
      a 128 self 128 process
  a 256 self 256 process
  bpf_prog 16 BPF
    vfs_read 16 kernel
      main 16
        a 16 self 16 process
  ext4_read 8 module
    vfs_read 8 kernel
      main 8
        a 8 self 8 process
  folded_[k] 64 kernel
    folded 64 unknown
      clock 64
        a 64 self 64 process
  guest 32 guest
    jitted 32 JIT
      a 32 self 32 process
  main 516
    a 4 self 4 process
    main 512 self 512
  tiny 3 inlined
    work 3
      main 3
        a 3 self 3 process
`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tree, err := New(stackstest.TreeSet(), test.o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimPrefix(test.want, "\n"), drawTree(tree)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestTreeCut: what is left out is counted.
func TestTreeCut(t *testing.T) {
	tree, err := New(stackstest.TreeSet(), Options{Min: 20. / 1023})
	if err != nil {
		t.Fatal(err)
	}
	// work with 3, bpf_prog with 16, ext4_read with 8.
	if tree.Cut != 3 {
		t.Errorf("left out %d, not 3", tree.Cut)
	}
}

func TestDiffTree(t *testing.T) {
	base := stackstest.SetOf([]stackstest.Row{
		stackstest.NewRow("x", 1, 10, "gone", "u", "main", "u"),
		stackstest.NewRow("x", 1, 30, "same", "u", "main", "u"),
		stackstest.NewRow("x", 1, 3, "tiny", "u", "main", "u"),
	})
	set := stackstest.SetOf([]stackstest.Row{
		stackstest.NewRow("x", 1, 60, "same", "u", "main", "u"),
		stackstest.NewRow("x", 1, 20, "fresh", "u", "main", "u"),
		stackstest.NewRow("x", 1, 5, "tiny", "u", "main", "u"),
	})
	// With twice the base's values: 20 of gone, 120 of same, 11 of tiny.
	tree, err := Source{Set: set, Base: base, BaseScale: 2}.Tree(Options{Min: 6. / 85.5})
	if err != nil {
		t.Fatal(err)
	}
	want := `
all 85 was 43
  main 85 was 43
    fresh 20 was 0 self 20
    gone 0 was 10
    same 60 was 30 self 60
`
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), drawTree(tree)); diff != "" {
		t.Error(diff)
	}
	if tree.Cut != 1 {
		t.Errorf("left out %d, not 1", tree.Cut)
	}
}

func TestTreeByTime(t *testing.T) {
	s := stackstest.SetOf([]stackstest.Row{
		stackstest.NewRow("x", 1, 0, "f", "u", "main", "u"),
		stackstest.NewRow("x", 1, 0, "g", "u", "main", "u"),
		stackstest.NewRow("w", 2, 0, "g", "u", "main", "u"),
		stackstest.NewRow("x", 1, 0, "main", "u"),
	})
	for i, m := range []stacks.TimedSample{{Sample: 0, Value: 1}, {Sample: 2, Value: 2}, {Sample: 0, Value: 4}, {Sample: 1, Value: 8},
		{Sample: 0, Value: 16}, {Sample: 3, Value: 32}, {Sample: 0, Value: 64}, {Sample: 2, Value: 128}} {
		m.Time = uint64(100 + i)
		s.AddTimedSample(m)
	}
	tree, err := New(s, Options{ByTime: true, Comm: true})
	if err != nil {
		t.Fatal(err)
	}
	want := `
all 255 from 0
  w 130 from 0 process
    main 130 from 0
      g 130 from 0 self 130
  x 125 from 130 process
    main 125 from 130 self 32
      f 5 from 130 self 5
      g 8 from 135 self 8
      f 16 from 143 self 16
      f 64 from 191 self 64
`
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), drawTree(tree)); diff != "" {
		t.Error(diff)
	}
}

func TestTreeErrors(t *testing.T) {
	s := stackstest.TreeSet()
	negative := stacks.New(stackstest.OneEvent())
	negative.Add(0, negative.Intern(nil), 0, -1, 1)
	huge := stacks.New(stackstest.OneEvent())
	for i := range 2 {
		huge.Add(0, huge.Intern([]uint32{huge.AddLocation(stacks.NoMapping, uint64(i), 0)}), 0, 1<<62, 1)
	}
	tests := []struct {
		s    *stacks.Set
		o    Options
		want string
	}{
		{s, Options{Event: 2}, "no event 2"},
		{s, Options{Event: -1}, "no event -1"},
		{s, Options{Event: 1, Column: 1}, "no column 1"},
		{s, Options{Total: 1022}, "more than a total of 1022"},
		{s, Options{ByTime: true}, "no times"},
		{negative, Options{}, "below 0"},
		{huge, Options{}, "too large"},
	}
	for _, test := range tests {
		if _, err := New(test.s, test.o); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: error %v, not one with %q", test.o, err, test.want)
		}
	}
}

// TestTreeOfMany compares Trees of random stacks with sums made one by one: of
// the values of all stacks that begin with a node's path.
func TestTreeOfMany(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var rows []stackstest.Row
		for range r.IntN(200) {
			w := stackstest.Row{Comm: string(rune('a' + r.IntN(3))), PID: 1, Weight: r.Int64N(50)}
			for range r.IntN(8) {
				w.Frames = append(w.Frames, stackstest.Frame{Name: string(rune('f' + r.IntN(3))), DSO: "u"})
			}
			rows = append(rows, w)
		}
		s := stackstest.SetOf(rows)
		o := Options{Comm: r.IntN(2) == 0, Reverse: r.IntN(2) == 0}
		tree, err := New(s, o)
		if err != nil {
			t.Fatal(err)
		}
		sums, selfs := make(map[string]int64), make(map[string]int64)
		for _, w := range rows {
			if w.Weight == 0 {
				continue
			}
			var path []string
			if o.Comm {
				path = append(path, w.Comm)
			}
			for _, f := range slices.Backward(w.Frames) {
				path = append(path, f.Name)
			}
			if len(path) == 0 { // as in folded stacks
				path = append(path, "[unknown]")
			}
			if o.Reverse {
				slices.Reverse(path)
			}
			for i := range len(path) + 1 {
				sums[strings.Join(path[:i], ";")] += w.Weight
			}
			selfs[strings.Join(path, ";")] += w.Weight
		}
		got, gotSelfs := make(map[string]int64), make(map[string]int64)
		var path []string
		for i, n := range tree.Nodes {
			if i > 0 {
				path = append(path[:n.Depth-1], tree.Names[n.Name])
			}
			key := strings.Join(path, ";")
			if _, twice := got[key]; twice {
				t.Errorf("%q is two nodes", key)
			}
			got[key] = n.Value
			if n.Self != 0 {
				gotSelfs[key] = n.Self
			}
			left := n.Value - n.Self
			last := ""
			for c := range tree.Children(i) {
				left -= tree.Nodes[c].Value
				if name := tree.Names[tree.Nodes[c].Name]; name <= last {
					t.Errorf("%q after %q below %q", name, last, key)
				} else {
					last = name
				}
			}
			if left != 0 {
				t.Errorf("%q: %d of %d are nowhere below it", key, left, n.Value)
			}
		}
		if len(rows) == 0 {
			sums[""] = 0
		}
		if _, ok := sums[""]; !ok {
			sums[""] = 0
		}
		if diff := cmp.Diff(sums, got); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(selfs, gotSelfs); diff != "" {
			t.Error(diff)
		}
	}
}

// BenchmarkTree merges 680,000 distinct stacks of 30 frames: all, and what fills
// a tenth of one of 1200 pixels.
func BenchmarkTree(b *testing.B) {
	s := stackstest.Wide(680_000, 30, 50_000)
	for _, min := range []float64{0, 1. / 12000} {
		b.Run(fmt.Sprintf("min=%v", min), func(b *testing.B) {
			b.ReportAllocs()
			var nodes int
			for b.Loop() {
				t, err := New(s, Options{Comm: true, Min: min})
				if err != nil {
					b.Fatal(err)
				}
				nodes = len(t.Nodes)
			}
			b.ReportMetric(float64(nodes), "nodes")
		})
	}
}

// TestCut: leaving out afterwards is the same as before.
func TestCut(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	for range 20 {
		s := stackstest.GraphOf(300, r.Uint64())
		least := r.Int64N(60)
		whole, err := New(s, Options{Comm: true})
		if err != nil {
			t.Fatal(err)
		}
		whole = whole.Without(func(i int) bool { return whole.Nodes[i].Value < least })
		cut, err := New(s, Options{Comm: true, Min: (float64(least) - .5) / float64(whole.Nodes[0].Value)})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := drawTree(whole), drawTree(cut); got != want || whole.Cut != cut.Cut {
			t.Fatalf("%d left out afterwards, %d before\n%s", whole.Cut, cut.Cut, cmp.Diff(want, got))
		}
	}
}
