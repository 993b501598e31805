package difftest

import (
	"math/rand/v2"
	"testing"
)

// TestJudge: of thousands of questions a hundredth is answered wrongly, at both
// probabilities, and by fewer trials than an answer by all of them took.
func TestJudge(t *testing.T) {
	const questions = 5000
	for _, r := range []Rate{{Good: 0.05, Bad: 0.1, Most: 1e6}, {Good: 0.99, Bad: 0.9, Most: 1e6}} {
		for _, p := range []float64{r.Good, r.Bad} {
			rnd := rand.New(rand.NewPCG(1, uint64(1000*p)))
			wrong, trials := 0, 0
			for range questions {
				hits, n, good := r.Judge(func(uint64) bool { return rnd.Float64() < p })
				if good != (p == r.Good) {
					wrong++
				}
				if trials += n; hits > n {
					t.Fatalf("%d hits in %d trials", hits, n)
				}
			}
			// Of 50 as few as Wald's bounds have it, which are passed by, or 50 and three deviations.
			if wrong < 5 || wrong > 71 || trials > 300*questions {
				t.Errorf("%+v: of %d at %v %d are wrong, by %d trials", r, questions, p, wrong, trials)
			}
		}
	}
}

// TestJudgeAtMost: trials have their numbers, and where there are few the likelier
// probability is taken.
func TestJudgeAtMost(t *testing.T) {
	r := Rate{Good: 0.05, Bad: 0.1, Most: 10}
	for hits, want := range []bool{true, false, false} {
		next := uint64(0)
		got, n, good := r.Judge(func(n uint64) bool {
			if n != next {
				t.Fatalf("trial %d has the number %d", next, n)
			}
			next++
			return n < uint64(hits)
		})
		if got != hits || n != 10 || good != want {
			t.Errorf("%d hits of 10: %d of %d, %v", hits, got, n, good)
		}
	}
	if hits, n, good := (Rate{Good: 0.99, Bad: 0.9, Most: 100}).Judge(func(uint64) bool { return true }); hits != n || n != 49 || !good {
		t.Errorf("always: %d of %d, %v", hits, n, good)
	}
}
