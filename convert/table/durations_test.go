package table

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/convert/span"
	"kprof/convert/stacks"
)

// durationSet has the times of reads, 1 to 1000 µs, and of two writes, by threads; and an
// event whose values are no times.
func durationSet() (*stacks.Set, []Durations) {
	s := stacks.New(
		stacks.Event{Name: "clock", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}},
		stacks.Event{Name: "span:x", Values: []stacks.ValueType{{Type: "spans", Unit: "count"}, {Type: "span:x", Unit: "nanoseconds"}}},
	)
	var all []Durations
	add := func(call string, tid int64, times ...uint64) {
		labels := s.InternLabels([]stacks.Label{{Key: "syscall", Str: call}, {Key: "tid", Num: tid}})
		h := &span.Histogram{}
		for _, t := range times {
			h.Add(t)
		}
		s.Add(1, s.Intern(nil), labels, int64(len(times)), int64(h.Sum))
		all = append(all, Durations{Event: 1, Labels: labels, Histogram: h})
	}
	var odd, even []uint64
	for i := uint64(1); i <= 1000; i += 2 {
		odd, even = append(odd, i*1000), append(even, i*1000+1000)
	}
	add("read", 1, odd...)
	add("read", 2, even...)
	add("write", 1, 3, 2<<20)
	s.Add(1, s.Intern(nil), s.InternLabels([]stacks.Label{{Key: "syscall", Str: "futex"}}), 0, 0) // none ended
	s.Add(0, s.Intern(nil), 0, 7)
	return s, all
}

// TestDurations: distributions of groups are those of all their labels. A quantile is the
// upper end of a bucket, at most one percent more than that of the numbers 1 to 1000.
func TestDurations(t *testing.T) {
	s, d := durationSet()
	for _, c := range []struct {
		o    TopOptions
		want string
	}{
		{TopOptions{By: "syscall"}, `
Event: span:x, span:x of nanoseconds
Total: 502.6ms in 3 groups by syscall

     total  total%     count      mean       p50       p90       p99     p99.9       max  syscall
   500.5ms  99.58%      1000   500.5us  501.76us  901.12us  991.23us  999.42us       1ms  read
     2.1ms   0.42%         2    1.05ms       3ns     2.1ms     2.1ms     2.1ms     2.1ms  write
       0ns   0.00%         -         -         -         -         -         -         -  futex
`},
		{TopOptions{By: "tid,syscall", Limit: 1}, `
Event: span:x, span:x of nanoseconds
Total: 502.6ms in 4 groups by tid,syscall

     total  total%     count      mean       p50       p90       p99     p99.9       max  tid,syscall
  250.5ms  49.84%       500     501us  501.76us  901.12us  991.23us       1ms       1ms  2, read
`},
		{TopOptions{Notes: []string{"Lost: 5"}}, `
Event: span:x, span:x of nanoseconds
Total: 502.6ms in 1 function
count 1002, mean 501.59us, p50 501.76us, p90 901.12us, p99 991.23us, p99.9 1ms, max 2.1ms
Lost: 5
`},
	} {
		c.o.Event, c.o.Column, c.o.Durations = 1, 1, d
		got := top(t, s, c.o)
		// Without what the table of functions says of a Set without any.
		if got, _, _ := strings.Cut(got, "\n      self"); strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(c.want), " ") {
			t.Errorf("got %s\nwant %s", got, c.want)
		}
	}
	if got := top(t, s, TopOptions{By: "mapping", Event: 1, Column: 1, Durations: d}); !strings.Contains(got, "self%") {
		t.Errorf("by what is no label: %s", got)
	}
}

// TestHistograms: what is counted adds up, and no line is left out in between.
func TestHistograms(t *testing.T) {
	s, d := durationSet()
	var b strings.Builder
	if err := Histograms(&b, s, TopOptions{Event: 1, Column: 1, By: "syscall", Limit: 2, Durations: d}); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{
		"\nread: 500.5ms, 99.58%, 1000 spans\n",
		"\n     512ns … 1.02us             1   0.10%  |" + strings.Repeat(" ", 50) + "|\n", // 1000
		"\n   32.77us … 65.54us           33   3.30%  |@@@ ",                               // 33000 to 65000
		"\n  524.29us … 1.05ms           476  47.60%  |" + strings.Repeat("@", 50) + "|\n", // 525000 to 1000000
		"\nwrite: 2.1ms, 0.42%, 2 spans\n       2ns … 4ns                1  50.00%  |" + strings.Repeat("@", 50) + "|\n",
		"\n       4ns … 8ns                0   0.00%  |",
		"\n     2.1ms … 4.19ms             1  50.00%  |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "futex") {
		t.Errorf("of nothing:\n%s", got)
	}
	b.Reset()
	if err := Histograms(&b, s, TopOptions{Event: 1, Column: 1, Durations: d}); err != nil || !strings.Contains(b.String(), "Total: 502.6ms in 1002 spans\n") {
		t.Errorf("%v: %s", err, b.String())
	}
	for _, o := range []TopOptions{{Durations: d}, {Event: 1, Column: 1}, {Event: 1, Column: 1, By: "mapping", Durations: d}} {
		if err := Histograms(&b, s, o); !errors.Is(err, ErrNoDurations) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestDurationsJSON: the buckets in JSON hold every time, between their ends.
func TestDurationsJSON(t *testing.T) {
	s, d := durationSet()
	type durations struct {
		Count, Sum, Min, Mean, P50, Max uint64
		P999                            uint64 `json:"p99.9"`
		Buckets                         []span.Bucket
	}
	var got struct {
		Rows []struct {
			Name      string
			Durations *durations
		}
	}
	var b strings.Builder
	if err := JSON(&b, s, TopOptions{Event: 1, Column: 1, By: "syscall", Durations: d}); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range got.Rows {
		names = append(names, r.Name)
	}
	if !slices.Equal(names, []string{"read", "write", "futex"}) || got.Rows[2].Durations != nil {
		t.Fatalf("%q %v", names, got.Rows)
	}
	r := got.Rows[0].Durations
	if r.Count != 1000 || r.Sum != 500500e3 || r.Min != 1000 || r.Mean != 500500 || r.Max != 1e6 {
		t.Errorf("%+v", r)
	}
	for _, k := range r.Buckets {
		var want uint64
		for i := uint64(1); i <= 1000; i++ {
			if v := i * 1000; v >= k.From && v <= k.To {
				want++
			}
		}
		if k.Count != want {
			t.Errorf("%+v holds %d", k, want)
		}
	}
	if diff := cmp.Diff(got.Rows[1].Durations.Buckets[0], span.Bucket{From: 3, To: 3, Count: 1}); diff != "" {
		t.Error(diff)
	}
}
