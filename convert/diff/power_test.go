package diff

import (
	"fmt"
	"math"
	"testing"
)

// idealFinds tells whether a test that knows how samples scatter, independently of each
// other, and corrects for as many differences, finds a function's.
func idealFinds(r *Result, base, new int64) bool {
	n, m := float64(r.Base.Value), float64(r.New.Value)
	p := float64(base+new) / (n + m)
	diff := float64(new)/m - float64(base)/n
	z := math.Abs(diff) / math.Sqrt(p*(1-p)*(1/n+1/m))
	return math.Erfc(z/math.Sqrt2)*float64(r.Tests) <= r.Alpha && math.Abs(diff) >= r.MinEffect
}

// enough trials of which all are as they should be tell what further ones would: of what is
// so four times in five, one in 86 is so twenty times.
const enough = 20

// TestPower puts a known share of the samples of one side into a function, of many and of
// few samples: it is found as often as an ideal test finds it, but for two standard
// errors; nothing else comes first; and where it is not found, a limit of half of it
// is not said to be kept.
func TestPower(t *testing.T) {
	const trials = 50 // or enough
	for _, samples := range []int{2000, 8000, 64000} {
		for _, share := range []float64{0.005, 0.0125, 0.025, 0.05} {
			t.Run(fmt.Sprintf("%d samples, %g%%", samples, 100*share), func(t *testing.T) {
				t.Parallel()
				before := load{functions: 60, samples: samples, times: true}
				after := before
				after.slow, after.slower = share, "f20"
				var found, ideal, wrong, passed int
				n := some(trials)
				for trial := range uint64(n) {
					if trial >= enough && min(found, ideal) == int(trial) {
						n = int(trial)
						break
					}
					r, err := Compare(before.runs("base", 1, 2*trial+9000), after.runs("new", 1, 2*trial+9001), Defaults)
					if err != nil {
						t.Fatal(err)
					}
					told := false
					for i := range r.Functions {
						f := &r.Functions[i]
						if f.Name != "f20" {
							continue
						}
						told = f.Verdict == More
						if idealFinds(r, f.BaseSelf, f.NewSelf) {
							ideal++
						}
					}
					first := &r.Functions[0]
					switch {
					case told:
						found++
						if first.Name != "f20" {
							wrong++
						}
					case r.Judge(share/2).Outcome == Unchanged:
						passed++
					case first.changed() && first.Name != "caller4": // that calls it
						wrong++
					}
				}
				t.Logf("found %d times, ideally %d, of %d; wrong first %d times", found, ideal, n, wrong)
				q := float64(ideal) / float64(n)
				least := float64(ideal) - 2*math.Sqrt(q*(1-q)*float64(n))
				if float64(found) < least || wrong*20 > n || passed > 0 {
					t.Errorf("found %d times, ideally %d, of %d; wrong first %d times, limits passed that were exceeded %d times", found, ideal, n, wrong, passed)
				}
			})
		}
	}
}
