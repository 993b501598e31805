package transform

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"kprof/convert/folded"
	"kprof/convert/pprof"
	"kprof/convert/stacks"
)

func parse(t *testing.T, op Op, text string) Transform {
	t.Helper()
	tr, err := Parse(op, text)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// TestSteps: what each step does to a stack, with recursions, and one after the other.
func TestSteps(t *testing.T) {
	for _, test := range []struct{ steps, in, want string }{
		{"focus ^b$", "a;b;c 1\na;c 2\nb 4", "a;b;c 1\nb 4"},
		{"ignore ^b$", "a;b;c 1\na;c 2\nb 4", "a;c 2"},
		{"show-from ^b$", "a;b;c;b;d 1\na 2\nb 4", "b 4\nb;c;b;d 1"},
		{"show-to ^b$", "a;b;c;b;d 1\na 2\nb 4\na;b 8", "a;b 8\na;b;c;b 1\nb 4"},
		{"hide ^(b|x)$", "a;b;c;b 1\na;x 2", "a 2\na;c 1"},
		{"show [bc]", "a;b;c;d 1\na;c 2", "b;c 1\nc 2"},
		{"collapse-recursion ^b$", "a;b;c;b;d;b 1\na;b;c 2\nb;b;x 4", "a;b 1\na;b;c 2\nb;x 4"},
		{"collapse-recursion .", "a;b;a;b;c;c 1", "a;b;c 1"},
		{"collapse [kernel]", "a;k_[k];l_[k];b;m_[k] 1\na;k_[k];m_[k];b;m_[k];k_[k] 2", "a;[kernel];b;[kernel] 3"},
		{"hide ^b$,show-from ^c$,ignore ^d$", "a;b;c 1\nc;d 2\nd;c;b;e 4", "c 1\nc;e 4"},
		{"show-from ^c$,ignore ^d$", "d;c;e 4", "c;e 4"},
		{"collapse [kernel],show-to ^.kernel.$", "a;k_[k];b 3", "a;[kernel] 3"},
	} {
		set, err := folded.Read(strings.NewReader(test.in+"\n"), folded.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var steps []Transform
		for step := range strings.SplitSeq(test.steps, ",") {
			op, text, _ := strings.Cut(step, " ")
			steps = append(steps, parse(t, Op(slices.Index(opNames[:], op)), text))
		}
		if err := Apply(set, steps, nil); err != nil {
			t.Errorf("%s: %v", test.steps, err)
			continue
		}
		var b bytes.Buffer
		if err := folded.Write(&b, set, folded.Options{PlainNames: true}); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(test.want, strings.TrimSpace(b.String())); d != "" {
			t.Errorf("%s: %s", test.steps, d)
		}
	}
}

func TestNothingLeft(t *testing.T) {
	read := func() *stacks.Set {
		set, err := folded.Read(strings.NewReader("a;b;c 1\n"), folded.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return set
	}
	var none *NoneError
	if err := Apply(read(), []Transform{parse(t, Hide, "x"), parse(t, Focus, "^B$"), parse(t, Hide, "x")}, nil); !errors.As(err, &none) || none.Transform.Text != "^B$" || !none.Near || none.Samples != 1 {
		t.Errorf("%v", err)
	}
	// What only has no frame any more is still counted.
	set := read()
	if err := Apply(set, []Transform{parse(t, Hide, ".")}, nil); err != nil || set.NumSamples() != 1 || len(set.Stack(set.Sample(0).Stack)) != 0 {
		t.Errorf("all hidden: %v", err)
	}
	for _, wrong := range []string{"", "("} {
		if _, err := Parse(Focus, wrong); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

// inlinedSet has locations of up to so many functions, labels and times.
func inlinedSet(r *rand.Rand, mostLines int) *stacks.Set {
	s := stacks.New(stacks.Event{Name: "cpu", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	maps := []int32{s.AddMapping(stacks.Mapping{File: "/bin/a", Kind: stacks.KindUser, Limit: 100}), s.AddMapping(stacks.Mapping{File: "/lib/libc.so.6", Kind: stacks.KindUser, Start: 100, Limit: 200})}
	var locs []uint32
	for i := range 12 {
		l := s.AddLocation(maps[i%2], uint64(i%2*100+i), stacks.KindUser)
		var lines []stacks.Line
		for range 1 + r.IntN(mostLines) {
			lines = append(lines, stacks.Line{Function: s.AddFunction(stacks.Function{Name: fmt.Sprint("f", r.IntN(9))}), Line: int64(i)})
		}
		s.SetLines(l, lines...)
		locs = append(locs, l)
	}
	for i := range 300 {
		var stack []uint32
		for range 1 + r.IntN(8) {
			stack = append(stack, locs[r.IntN(len(locs))])
		}
		row := s.Add(0, s.Intern(stack), s.InternLabels([]stacks.Label{{Key: "comm", Str: fmt.Sprint(i % 3)}}), 1)
		s.AddTimedSample(stacks.TimedSample{Time: uint64(i), Sample: uint32(row), Value: 1})
	}
	s.SortTimedSamples()
	return s
}

// names is how many samples there are of each stack of names, outermost first.
func names(p *profile.Profile) map[string]int64 {
	m := map[string]int64{}
	for _, s := range p.Sample {
		var names []string
		for _, l := range s.Location {
			for _, line := range l.Line {
				names = append(names, line.Function.Name)
			}
		}
		slices.Reverse(names)
		m[strings.Join(names, ";")] += s.Value[0]
	}
	return m
}

// written is a Set as pprof reads it.
func written(t *testing.T, s *stacks.Set) *profile.Profile {
	t.Helper()
	var b bytes.Buffer
	if err := pprof.Write(&b, s, pprof.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPruneAgainstPprof: frames that a profile says to drop are dropped as pprof does. (Where it
// cuts a location of inlined functions it does so in each stack, though it leaves what is below in
// some.)
func TestPruneAgainstPprof(t *testing.T) {
	for seed := range uint64(5) {
		for _, x := range []struct{ drop, keep string }{
			{"f1", ""}, {"f[2-5]", ""}, {"f.*", "f[0-1]"}, {".*", ""}, {"f1|f2", "f2"}, {"f", ""},
			{"operator new", ""}, {`x::operator\(\)`, ""}, {".*alloc", ".*_alloc"},
		} {
			s := inlinedSet(rand.New(rand.NewPCG(seed, 2)), 1)
			for i, name := range []string{"operator new(unsigned long)", "x::operator()(int)", "(anonymous namespace)::alloc(int)", ".my_alloc"} {
				s.Functions[i].Name = name
			}
			s.DropFrames, s.KeepFrames = x.drop, x.keep
			want := written(t, s)
			if err := want.RemoveUninteresting(); err != nil {
				t.Fatal(err)
			}
			prune, err := Prune(x.drop, x.keep)
			if err != nil {
				t.Fatal(err)
			}
			before := names(written(t, s))
			if err := Apply(s, []Transform{prune}, nil); err != nil {
				t.Fatal(err)
			}
			got := names(written(t, s))
			if d := cmp.Diff(names(want), got); d != "" {
				t.Errorf("%d: %+v: %s", seed, x, d)
			}
			if hit := x.drop != "f" && x.drop != ".*"; hit == cmp.Equal(before, got) {
				t.Errorf("%d: %+v: changed %v, want %v", seed, x, !hit, hit)
			}
		}
	}
	for _, wrong := range [][2]string{{"(", ""}, {"a", "("}} {
		if _, err := Prune(wrong[0], wrong[1]); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

// TestAgainstPprof: what pprof has too does the same to the same stacks.
func TestAgainstPprof(t *testing.T) {
	for seed := range uint64(5) {
		for _, text := range []string{"^f1$", "^f[2-5]$", "f"} {
			for op, filter := range map[Op]func(*profile.Profile, *regexp.Regexp){
				Focus:    func(p *profile.Profile, re *regexp.Regexp) { p.FilterSamplesByName(re, nil, nil, nil) },
				Ignore:   func(p *profile.Profile, re *regexp.Regexp) { p.FilterSamplesByName(nil, re, nil, nil) },
				Hide:     func(p *profile.Profile, re *regexp.Regexp) { p.FilterSamplesByName(nil, nil, re, nil) },
				Show:     func(p *profile.Profile, re *regexp.Regexp) { p.FilterSamplesByName(nil, nil, nil, re) },
				ShowFrom: func(p *profile.Profile, re *regexp.Regexp) { p.ShowFrom(re) },
			} {
				lines := 3
				if op == ShowFrom { // where pprof cuts a location, it does so at each call
					lines = 1
				}
				s := inlinedSet(rand.New(rand.NewPCG(seed, 1)), lines)
				want := written(t, s)
				filter(want, regexp.MustCompile(text))
				err := Apply(s, []Transform{parse(t, op, text)}, nil)
				if none := (*NoneError)(nil); errors.As(err, &none) && len(want.Sample) == 0 {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				got := names(written(t, s))
				delete(got, "") // which pprof drops
				if d := cmp.Diff(names(want), got); d != "" {
					t.Errorf("%d: %v %s: %s", seed, op, text, d)
				}
				var sum int64
				for i := range s.NumSamples() {
					sum += s.Sample(i).Values[0]
				}
				if int(sum) != len(s.TimedSamples) {
					t.Errorf("%d: %v %s: %d samples, %d with times", seed, op, text, sum, len(s.TimedSamples))
				}
			}
		}
	}
}

// TestCollapseMapping: frames of a mapping become one, and have its name.
func TestCollapseMapping(t *testing.T) {
	s := inlinedSet(rand.New(rand.NewPCG(7, 7)), 3)
	n := s.Names()
	want := map[string]int64{}
	for i := range s.NumSamples() {
		x := s.Sample(i)
		var path []string
		for _, loc := range slices.Backward(s.Stack(x.Stack)) {
			if s.Locations[loc].Mapping == 1 {
				if len(path) == 0 || path[len(path)-1] != "[libc.so.6]" {
					path = append(path, "[libc.so.6]")
				}
				continue
			}
			for _, name := range slices.Backward(n.Of(loc)) {
				path = append(path, n.Names[name])
			}
		}
		want[strings.Join(path, ";")] += x.Values[0]
	}
	if err := Apply(s, []Transform{parse(t, Collapse, "libc.so.6")}, nil); err != nil {
		t.Fatal(err)
	}
	got, n := map[string]int64{}, s.Names()
	for i := range s.NumSamples() {
		var path []string
		x := s.Sample(i)
		for _, loc := range slices.Backward(s.Stack(x.Stack)) {
			for _, name := range slices.Backward(n.Of(loc)) {
				path = append(path, n.Names[name])
			}
		}
		got[strings.Join(path, ";")] += x.Values[0]
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestTags: frames of labels are found, and stay.
func TestTags(t *testing.T) {
	s := stacks.New(stacks.Event{Name: "cpu", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	loc := func(name string) uint32 {
		l := s.AddLocation(stacks.NoMapping, 0, stacks.KindUser)
		s.SetLines(l, stacks.Line{Function: s.AddFunction(stacks.Function{Name: name})})
		return l
	}
	f, g, tag := loc("f"), loc("g"), loc("web")
	s.Add(0, s.Intern([]uint32{g, f, tag}), 0, 1)
	s.Add(0, s.Intern([]uint32{g, f}), 0, 2)
	isTag := func(l uint32) bool { return l == tag }
	if err := Apply(s, []Transform{parse(t, ShowFrom, "g"), parse(t, Hide, "web"), parse(t, Focus, "web")}, isTag); err != nil {
		t.Fatal(err)
	}
	if s.NumSamples() != 1 || !slices.Equal(s.Stack(s.Sample(0).Stack), []uint32{g, tag}) || s.NumStacks() != 1 {
		t.Errorf("%d rows, %v", s.NumSamples(), s.Stack(s.Sample(0).Stack))
	}
}
