package compare

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"kprof/convert"
	"kprof/convert/diff"
	"kprof/convert/folded"
	"kprof/convert/page"
	"kprof/convert/pprof"
)

// TestRecordedPairs compares recordings of one load, those of the directory KPROF_PAIRS
// (testdata/pairs.sh), in pairs of each kind of input. With the level of Defaults one of
// twenty may say that something changed; it fails with more than 17 of 200, which chance
// explains in one of fifty such kinds. Each recording is in one pair. With KPROF_PAIRS_IDLE, which
// says that nothing else ran on the machine, those of all programs together are judged too.
func TestRecordedPairs(t *testing.T) {
	dir := os.Getenv("KPROF_PAIRS")
	if dir == "" {
		t.Skip("KPROF_PAIRS names no recordings: see testdata/pairs.sh")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.data"))
	if err != nil {
		t.Fatal(err)
	}
	for _, comm := range []string{"", "ls", "sort", "gzip"} {
		o := diff.Defaults
		o.Program = comm != ""
		name, comms := "-a", []string(nil)
		if comm != "" {
			name, comms = "--comm "+comm, []string{comm}
		}
		// recorded are as read from the recordings, written are pprof's of these, paged are pages,
		// headed are folded stacks with a header, and stacked have no times.
		var recorded, written, paged, headed, stacked []*convert.Profile
		for _, file := range files {
			p, err := convert.Open(t.Context(), file, convert.Options{Selection: convert.Selection{Times: true, Blocks: true, Comms: comms}})
			if err != nil {
				t.Log(err) // a busy machine may leave the load out
				continue
			}
			recorded = append(recorded, p)
			written = append(written, through(t, p, func(w io.Writer) error { return pprof.Write(w, p.Set, pprof.WriteOptions{}) }))
			paged = append(paged, through(t, p, func(w io.Writer) error { return page.Write(w, p.Set, page.Options{}) }))
			headed = append(headed, through(t, p, func(w io.Writer) error { return folded.Write(w, p.Set, folded.Options{Header: true}) }))
			stacked = append(stacked, through(t, p, func(w io.Writer) error { return folded.Write(w, p.Set, folded.Options{}) }))
		}
		for _, kind := range []struct {
			name      string
			base, new []*convert.Profile
		}{
			{"perf.data", recorded, recorded},
			{"pprof", written, written},
			{"perf.data and pprof", recorded, written},
			{"page", paged, paged},
			{"folded with header", headed, headed},
			{"folded", stacked, stacked},
		} {
			for _, repeat := range []int{1, 3} {
				pairs, wrong, unclear := 0, 0, 0 // unclear: other programs ran, or interrupts differ
				first := map[string]int{}
				for i := 0; i+2*repeat <= len(recorded); i += 2 * repeat {
					c, err := New([2][]*convert.Profile{every(kind.base[i:i+2*repeat], 0), every(kind.new[i:i+2*repeat], 1)},
						Options{Diff: o})
					if err != nil {
						t.Fatal(err)
					}
					c.o.Diff.Builds, c.o.Diff.SimilarCode = nil, nil // both are one kernel
					r, err := c.Compare()
					if err != nil {
						t.Fatal(err)
					}
					pairs++
					if len(r.Programs) > 0 || r.Interrupts != nil && len(r.Interrupts.Functions) > 0 {
						unclear++
					}
					if r.Outcome == diff.Changed {
						wrong++
						for _, f := range r.Functions[:min(3, len(r.Functions))] {
							if f.Verdict != diff.Noise {
								first[f.Name]++
							}
						}
					}
				}
				t.Logf("%-14s %-20s %d a side: %3d of %3d pairs, %d unclear %v", name, kind.name, repeat, wrong, pairs, unclear, first)
				// Chance has its part in fewer. What else ran on a machine is no equal load.
				if (comm != "" || os.Getenv("KPROF_PAIRS_IDLE") != "") && 200*wrong > 17*pairs+400 {
					t.Errorf("%s, %s: %d of %d equal pairs are said to differ", name, kind.name, wrong, pairs)
				}
			}
		}
	}
}

// every returns each second profile: those of both sides take turns, as kprof bench has
// it, since what the machine does beside the load lasts longer than a recording.
func every(profiles []*convert.Profile, from int) (side []*convert.Profile) {
	for i := from; i < len(profiles); i += 2 {
		side = append(side, profiles[i])
	}
	return side
}

// through writes a profile, and reads that.
func through(t *testing.T, p *convert.Profile, write func(io.Writer) error) *convert.Profile {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	again, err := convert.Read(t.Context(), &b, convert.Options{Selection: convert.Selection{Times: true}, Name: p.Source})
	if err != nil {
		t.Fatal(err)
	}
	return again
}
