package stacks

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKeep: what is left of random Sets is what a look at each row says, and the
// moments are still those of their rows.
func TestKeep(t *testing.T) {
	for seed := range uint64(200) {
		for _, event := range []int{-1, 0, 1} {
			s := random(seed)
			if event >= len(s.Events) {
				continue
			}
			for i := range s.NumSamples() {
				s.AddTimedSample(TimedSample{uint64(i + 1), uint32(i), s.Sample(i).Values[0]})
			}
			want := func(l LabelsID) bool {
				comm, _ := s.Label(l, "comm")
				return comm.Str != "1"
			}
			rows, moments := canon(s), momentsOf(s)
			for k := range rows {
				name, _, _ := strings.Cut(strings.TrimPrefix(k, "{"), " ")
				if event >= 0 && name != s.Events[event].Name || strings.Contains(k, "[{comm 1 0 }]") {
					delete(rows, k)
				}
			}
			for k := range moments {
				row, _, _ := strings.Cut(k, " @")
				if _, ok := rows[row]; !ok {
					delete(moments, k)
				}
			}
			s.Keep(want)
			if event >= 0 {
				to := slices.Repeat([]int{-1}, len(s.Events))
				to[event] = 0
				s.MapEvents(s.Events[event:event+1], to)
			}
			if diff := cmp.Diff(rows, canon(s)); diff != "" {
				t.Fatalf("seed %d, event %d: %s", seed, event, diff)
			}
			if diff := cmp.Diff(moments, momentsOf(s)); diff != "" {
				t.Fatalf("seed %d, event %d: %s", seed, event, diff)
			}
			if event >= 0 && len(s.Events) != 1 {
				t.Errorf("%d events are left", len(s.Events))
			}
		}
	}
}

// momentsOf are the moments of a Set with what their rows say, in full.
func momentsOf(s *Set) map[string]bool {
	all := map[string]bool{}
	for _, m := range s.TimedSamples {
		all[fmt.Sprintf("%s @%d +%d", rowText(s, s.Sample(int(m.Sample))), m.Time, m.Value)] = true
	}
	return all
}
