package convert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"kprof/convert/pprof"
	"kprof/convert/stacks"
	"kprof/perfevent/livetest"
)

// fleet makes profiles of machines with the same program at other addresses, by
// google/pprof's own types.
func fleet(n int) []*profile.Profile {
	var all []*profile.Profile
	for i := range n {
		r := rand.New(rand.NewPCG(uint64(i), 3))
		p := &profile.Profile{
			SampleType:    []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
			PeriodType:    &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
			Period:        10e6,
			DurationNanos: int64(10+i) * 1e9,
			Comments:      []string{fmt.Sprint("host: web", i), "kernel: 6.12", fmt.Sprintf("warning: lost %d samples while recording; a file has no names", i+1)},
		}
		start := uint64(0x400000) + r.Uint64N(1<<20)<<12
		p.Mapping = []*profile.Mapping{{ID: 1, Start: start, Limit: start + 1<<20, File: "/bin/x", BuildID: "abcd", HasFunctions: true}}
		for f := range 6 {
			p.Function = append(p.Function, &profile.Function{ID: uint64(f + 1), Name: fmt.Sprint("f", f), SystemName: fmt.Sprint("f", f)})
		}
		for l := range 20 {
			p.Location = append(p.Location, &profile.Location{
				ID: uint64(l + 1), Mapping: p.Mapping[0], Address: start + uint64(l*8),
				Line: []profile.Line{{Function: p.Function[l%6], Line: int64(l % 3)}},
			})
		}
		for range 100 {
			s := &profile.Sample{
				Value:    []int64{1 + r.Int64N(9), 1 + r.Int64N(1e9)},
				Label:    map[string][]string{"comm": {fmt.Sprint("c", r.IntN(2))}},
				NumLabel: map[string][]int64{"pid": {1 + r.Int64N(5)}}, NumUnit: map[string][]string{"pid": {"pid"}},
			}
			for range 1 + r.IntN(3) {
				s.Location = append(s.Location, p.Location[r.IntN(len(p.Location))])
			}
			p.Sample = append(p.Sample, s)
		}
		all = append(all, p)
	}
	return all
}

// rowsOf sums the samples of a profile by stack and labels.
func rowsOf(p *profile.Profile) map[string][2]int64 {
	rows := map[string][2]int64{}
	for _, s := range p.Sample {
		var b strings.Builder
		for _, l := range s.Location {
			fmt.Fprintf(&b, "%s %s %#x %s:%d;", l.Mapping.File, l.Mapping.BuildID, l.Address-l.Mapping.Start, l.Line[0].Function.Name, l.Line[0].Line)
		}
		fmt.Fprint(&b, s.Label, s.NumLabel)
		v := rows[b.String()]
		rows[b.String()] = [2]int64{v[0] + s.Value[0], v[1] + s.Value[1]}
	}
	return rows
}

// sumUp adds up profiles as files of theirs would be.
func sumUp(t *testing.T, all []*profile.Profile, order []int, o SumOptions) *Profile {
	t.Helper()
	sum := NewSum(o)
	for _, i := range order {
		var b bytes.Buffer
		if err := all[i].Write(&b); err != nil {
			t.Fatal(err)
		}
		p, err := Read(context.Background(), &b, Options{Name: fmt.Sprint(i)})
		if err != nil {
			t.Fatal(err)
		}
		if err := sum.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	return sum.Profile()
}

// written is a profile as google/pprof reads it from what is written.
func written(t *testing.T, p *Profile) *profile.Profile {
	t.Helper()
	var b bytes.Buffer
	if err := pprof.Write(&b, p.Set, pprof.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := profile.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestSumIsThatOfPprof: google/pprof merges the same profiles to the same rows, in any
// order.
func TestSumIsThatOfPprof(t *testing.T) {
	all := fleet(9)
	merged, err := profile.Merge(all)
	if err != nil {
		t.Fatal(err)
	}
	want := rowsOf(merged)
	for seed := range uint64(4) {
		p := sumUp(t, fleet(9), rand.New(rand.NewPCG(seed, 9)).Perm(9), SumOptions{})
		got := written(t, p)
		if diff := cmp.Diff(want, rowsOf(got)); diff != "" {
			t.Fatal(diff)
		}
		if got.DurationNanos != merged.DurationNanos || got.Period != merged.Period || len(got.Sample) != len(want) || len(got.Location) != 20 {
			t.Errorf("%d ns, period %d, %d samples of %d, %d locations", got.DurationNanos, got.Period, len(got.Sample), len(want), len(got.Location))
		}
		for _, c := range []string{"kernel: 6.12", "host: web0", "host: web8", "warning: lost 45 samples while recording", "warning: a file has no names"} {
			if n := len(slices.DeleteFunc(slices.Clone(got.Comments), func(o string) bool { return o != c })); n != 1 {
				t.Errorf("%d comments %q among %q", n, c, got.Comments)
			}
		}
	}
}

// TestSumOfRates: profiles of different times weigh the same.
func TestSumOfRates(t *testing.T) {
	all := fleet(2)
	p := sumUp(t, fleet(2), []int{0, 1}, SumOptions{Rate: true, Drop: []string{"pid", "comm"}})
	var want float64
	for _, x := range all {
		var sum int64
		for _, s := range x.Sample {
			sum += s.Value[1]
		}
		want += float64(sum) / float64(x.DurationNanos) * 3600e9
	}
	got := float64(p.Set.Totals(0)[1])
	if p.Set.DurationNanos != 3600e9 || got < want-500 || got > want+500 { // rows are rounded
		t.Errorf("%v in %d ns, want %v", got, p.Set.DurationNanos, want)
	}
	unknown := &Profile{Set: stacks.New()}
	if err := NewSum(SumOptions{Rate: true}).Add(unknown); !errors.Is(err, ErrNoDuration) {
		t.Error(err)
	}
}

// TestSumOfWarnings: losses of all profiles are added up.
func TestSumOfWarnings(t *testing.T) {
	s := NewSum(SumOptions{})
	for i := range 3 {
		p := &Profile{Set: stacks.New(), Source: fmt.Sprint("p", i), opts: &Options{}}
		p.Warnings = []Warning{
			{Kind: LostSamples, Count: 4},
			{Kind: MissingNames, File: "/bin/x", Share: 0.1 * float64(i), Reason: ReasonNoSymbol},
			{Kind: SamplesWithoutValue, Event: fmt.Sprint("e", i%2), Count: 1},
		}
		if err := s.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	p := s.Profile()
	want := []Warning{
		{Kind: LostSamples, Count: 12},
		{Kind: MissingNames, File: "/bin/x", Share: 0.2, Reason: ReasonNoSymbol},
		{Kind: SamplesWithoutValue, Event: "e0", Count: 2}, {Kind: SamplesWithoutValue, Event: "e1", Count: 1},
	}
	if diff := cmp.Diff(want, p.Warnings); diff != "" {
		t.Error(diff)
	}
	if n := len(p.Losses()); n != 3 || p.Source != "p0 and 2 more" {
		t.Errorf("%d losses, %q", n, p.Source)
	}
}

// TestSumBoundsComments: each of many machines has its name, and not all are kept.
func TestSumBoundsComments(t *testing.T) {
	s := NewSum(SumOptions{})
	for i := range 3 * maxComments {
		set := stacks.New()
		set.Comments = []string{fmt.Sprint("host: h", i), "warning: lost 1 record while recording"}
		if err := s.Add(&Profile{Set: set}); err != nil {
			t.Fatal(err)
		}
	}
	c := s.Profile().Set.Comments
	if n := len(c); n > maxComments+2 || !slices.Contains(c, "warning: lost 600 records while recording") || !strings.HasSuffix(c[n-1], " more comments of the 600 profiles that were added up") {
		t.Errorf("%d comments, the last %q", n, c[n-1])
	}
}

func TestOrigin(t *testing.T) {
	type origin struct{ spec, name string }
	livetest.Table(t, func(c origin) string {
		o, err := ParseOrigin(c.spec)
		if err != nil {
			return "no origin"
		}
		l, err := o.Label(c.name)
		if err != nil {
			return "no label"
		}
		return l.Key + "=" + l.Str
	}, map[origin]string{
		{"host=web", "a/b"}:                         "host=web",
		{"host=([^/]+)[.]pb[.]gz$", "a/web1.pb.gz"}: "host=web1",
		{"host=([^/]+)[.]pb[.]gz$", "a/web1.data"}:  "no label",
		{"host=/(.*)/", "a/b/c"}:                    "host=b",
		{"host=/(.*)/", "a//c"}:                     "no label",
		{"host=", "x"}:                              "no origin",
		{"host", "x"}:                               "no origin",
		{"=x", "x"}:                                 "no origin",
		{"host=(", "x"}:                             "no origin",
		{"host=(?:x)", "x"}:                         "no origin",
	})
}
