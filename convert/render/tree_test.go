package render

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/convert/stacks"
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

// treeSet has code of each kind, an inlined function, one name at several
// addresses, a sample without frames and one without value.
func treeSet() *stacks.Set {
	s := stacks.New(oneEvent(), stacks.Event{Name: "other", Values: countAndTime[:1]})
	add := func(kind stacks.Kind, names ...string) uint32 {
		m := int32(stacks.NoMapping)
		if kind != stacks.KindUnknown {
			m = s.AddMapping(stacks.Mapping{File: "/lib/x.so", Kind: kind})
		}
		l := s.AddLocation(m, uint64(len(s.Locations)), kind)
		var lines []stacks.Line
		for _, n := range names {
			lines = append(lines, stacks.Line{Function: s.AddFunction(stacks.Function{Name: n})})
		}
		s.SetLines(l, lines...)
		return l
	}
	main1, main2 := add(stacks.KindUser, "main"), add(stacks.KindUser, "main")
	work := add(stacks.KindUser, "tiny", "work") // tiny inlined into work
	jit, bpf, module := add(stacks.KindAnon, "jitted"), add(stacks.KindBPF, "bpf_prog"), add(stacks.KindModule, "ext4_read")
	kernel, guest, vdso := add(stacks.KindKernel, "vfs_read"), add(stacks.KindGuest, "guest"), add(stacks.KindVDSO, "clock")
	nowhere, annotated, unnamed := add(stacks.KindUnknown, "folded"), add(stacks.KindUnknown, "folded_[k]"), add(stacks.KindUser)

	a := s.InternLabels([]stacks.Label{{Key: "comm", Str: "a"}, {Key: "pid", Num: 1}})
	a2 := s.InternLabels([]stacks.Label{{Key: "comm", Str: "a"}, {Key: "pid", Num: 2}})
	row := func(labels stacks.LabelsID, value int64, outermostFirst ...uint32) {
		slices.Reverse(outermostFirst)
		s.Add(0, s.Intern(outermostFirst), labels, value, 100*value)
	}
	row(a, 1, main1, work)
	row(a2, 2, main2, work)
	row(a, 4, main1)
	row(a, 8, main2, kernel, module)
	row(a, 16, main2, kernel, bpf)
	row(a, 32, jit, guest)
	row(a, 64, vdso, nowhere, annotated)
	row(a, 128, main1, unnamed)
	row(a, 256)
	row(0, 512, main1, main2)
	row(a, 0, kernel)
	s.Add(1, s.Intern([]uint32{kernel}), a, 7)
	return s
}

func TestTree(t *testing.T) {
	tests := []struct {
		name string
		o    TreeOptions
		want string
	}{
		{"by function", TreeOptions{}, `
all 1023 self 256
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
		{"other event", TreeOptions{Event: 1}, `
all 7
  vfs_read 7 self 7 kernel
`},
		{"other column, comms, what is large", TreeOptions{Column: 1, Comm: true, Min: 2400. / 102300}, `
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
		{"callers", TreeOptions{Reverse: true, Comm: true, Min: 3. / 1023}, `
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
			tree, err := NewTree(treeSet(), test.o)
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
	tree, err := NewTree(treeSet(), TreeOptions{Min: 20. / 1023})
	if err != nil {
		t.Fatal(err)
	}
	// work with 3, bpf_prog with 16, ext4_read with 8.
	if tree.Cut != 3 {
		t.Errorf("left out %d, not 3", tree.Cut)
	}
}

func TestDiffTree(t *testing.T) {
	base := setOf([]row{
		{"x", 1, 10, []frame{{"gone", "u"}, {"main", "u"}}},
		{"x", 1, 30, []frame{{"same", "u"}, {"main", "u"}}},
		{"x", 1, 3, []frame{{"tiny", "u"}, {"main", "u"}}},
	})
	set := setOf([]row{
		{"x", 1, 60, []frame{{"same", "u"}, {"main", "u"}}},
		{"x", 1, 20, []frame{{"fresh", "u"}, {"main", "u"}}},
		{"x", 1, 5, []frame{{"tiny", "u"}, {"main", "u"}}},
	})
	// With twice the base's values: 20 of gone, 120 of same, 11 of tiny.
	tree, err := newDiffTree(base, set, TreeOptions{}, TreeOptions{Min: 6. / 85.5}, 2)
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
	s := setOf([]row{
		{"x", 1, 0, []frame{{"f", "u"}, {"main", "u"}}},
		{"x", 1, 0, []frame{{"g", "u"}, {"main", "u"}}},
		{"w", 2, 0, []frame{{"g", "u"}, {"main", "u"}}},
		{"x", 1, 0, []frame{{"main", "u"}}},
	})
	for i, m := range []stacks.Moment{{Sample: 0, Value: 1}, {Sample: 2, Value: 2}, {Sample: 0, Value: 4}, {Sample: 1, Value: 8},
		{Sample: 0, Value: 16}, {Sample: 3, Value: 32}, {Sample: 0, Value: 64}, {Sample: 2, Value: 128}} {
		m.Time = uint64(100 + i)
		s.AddMoment(m)
	}
	tree, err := NewTree(s, TreeOptions{ByTime: true, Comm: true})
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
	s := treeSet()
	negative := stacks.New(oneEvent())
	negative.Add(0, negative.Intern(nil), 0, -1, 1)
	huge := stacks.New(oneEvent())
	for i := range 2 {
		huge.Add(0, huge.Intern([]uint32{huge.AddLocation(stacks.NoMapping, uint64(i), 0)}), 0, 1<<62, 1)
	}
	tests := []struct {
		s    *stacks.Set
		o    TreeOptions
		want string
	}{
		{s, TreeOptions{Event: 2}, "no event 2"},
		{s, TreeOptions{Event: -1}, "no event -1"},
		{s, TreeOptions{Event: 1, Column: 1}, "no column 1"},
		{s, TreeOptions{Total: 1022}, "more than a total of 1022"},
		{s, TreeOptions{ByTime: true}, "no times"},
		{negative, TreeOptions{}, "below 0"},
		{huge, TreeOptions{}, "too large"},
	}
	for _, test := range tests {
		if _, err := NewTree(test.s, test.o); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: error %v, not one with %q", test.o, err, test.want)
		}
	}
}

// TestTreeOfMany compares Trees of random stacks with sums made one by one: of
// the values of all stacks that begin with a node's path.
func TestTreeOfMany(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var rows []row
		for range r.IntN(200) {
			w := row{comm: string(rune('a' + r.IntN(3))), pid: 1, weight: r.Int64N(50)}
			for range r.IntN(8) {
				w.frames = append(w.frames, frame{string(rune('f' + r.IntN(3))), "u"})
			}
			rows = append(rows, w)
		}
		s := setOf(rows)
		o := TreeOptions{Comm: r.IntN(2) == 0, Reverse: r.IntN(2) == 0}
		tree, err := NewTree(s, o)
		if err != nil {
			t.Fatal(err)
		}
		sums, selfs := make(map[string]int64), make(map[string]int64)
		for _, w := range rows {
			if w.weight == 0 {
				continue
			}
			var path []string
			if o.Comm {
				path = append(path, w.comm)
			}
			for _, f := range slices.Backward(w.frames) {
				path = append(path, f.name)
			}
			if o.Reverse {
				slices.Reverse(path)
			}
			for i := range len(path) + 1 {
				sums[strings.Join(path[:i], ";")] += w.weight
			}
			selfs[strings.Join(path, ";")] += w.weight
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
	s := wide(680_000, 30, 50_000)
	for _, min := range []float64{0, 1. / 12000} {
		b.Run(fmt.Sprintf("min=%v", min), func(b *testing.B) {
			b.ReportAllocs()
			var nodes int
			for b.Loop() {
				t, err := NewTree(s, TreeOptions{Comm: true, Min: min})
				if err != nil {
					b.Fatal(err)
				}
				nodes = len(t.Nodes)
			}
			b.ReportMetric(float64(nodes), "nodes")
		})
	}
}
