package rig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kprof/convert/stacks/stackstest"
)

// TestGuestKnown: what a module does, which knows it: allocations by the functions that made
// them, and times that it measures itself, by the clock of perf's events.
func TestGuestKnown(t *testing.T) {
	guest(t)
	f, err := os.Open("/modules/known.ko")
	if os.IsNotExist(err) {
		t.Skip("the packages to compile testdata/rig/known could not be had")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.FinitModule(int(f.Fd()), "", 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.DeleteModule("known", 0); err != nil {
			t.Error(err)
		}
	})
	file := filepath.Join(t.TempDir(), "known.data")
	measured := map[string][]int64{} // the times that the module says
	recorded(t, file, func() {
		for _, what := range []string{"allocate", "sleep", "sleep", "sleep", "deep"} {
			const parameter = "/sys/module/known/parameters/run"
			if err := os.WriteFile(parameter, []byte(what), 0); err != nil {
				t.Fatal(err)
			}
			said, err := os.ReadFile(parameter)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(said)) {
				var n int64
				if _, err := fmt.Sscan(line, &n); err != nil {
					t.Fatal(err)
				}
				measured[what] = append(measured[what], n)
			}
		}
	}, "-a", "-e", "span:kmalloc", "-e", "span:known:known_sleep ms=$arg1", "-e", "span:known_deep n=$arg1")

	t.Run("allocate", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "a.pb.gz")
		if code, _, said := kprof(t, "convert", "-q", "--span", "kmalloc", file, "-o", out); code != 0 {
			t.Fatalf("exit code %d: %s", code, said)
		}
		p := stackstest.ReadPprof(t, out)
		got := map[string][4]int64{}
		for _, s := range p.Sample {
			for _, l := range s.Location {
				if len(l.Line) == 0 || !strings.HasPrefix(l.Line[0].Function.Name, "known_") {
					continue
				}
				name := l.Line[0].Function.Name
				n := got[name]
				for i := range n {
					n[i] += s.Value[i]
				}
				got[name] = n
				break
			}
		}
		for name, want := range map[string][4]int64{
			"known_leak": {10, 10 * 128, 10, 10 * 128},
			"known_part": {12, 12 * 4096, 4, 4 * 4096},
			"known_grow": {2, 256 + 8192, 1, 8192},
			"known_lend": {7, 7 * 64, 2, 2 * 64},
		} {
			if got[name] != want {
				t.Errorf("%s: %d, want %d", name, got[name], want)
			}
		}
		if len(got) != 4 {
			t.Errorf("%v", got)
		}
	})

	t.Run("sleep", func(t *testing.T) {
		took := measured["sleep"]
		got := spans(t, "--span", "known:known_sleep", "--label", "ms,ret", file)
		if len(got) != 60 || len(took) != 60 {
			t.Fatalf("%d times, of %d: %v", len(got), len(took), got)
		}
		equal := 0
		for round := range 3 {
			var ours, own, sum, total int64
			for i := 20 * round; i < 20*(round+1); i++ {
				l := got[i]
				if want := float64(5 + i%20); l.Labels["ms"] != want || l.Labels["ret"] != want || l.Duration < took[i] {
					t.Errorf("call %d: %v, %d ns, the module has measured %d", i, l.Labels, l.Duration, took[i])
				}
				sum, total = sum+l.Duration, total+took[i]
				ours, own = max(ours, l.Duration), max(own, took[i])
			}
			// Of 20 the 99th percentile is the longest.
			t.Logf("mean %d and longest %d ns, the module has measured %d and %d", sum/20, ours, total/20, own)
			if near(sum, total, 0.02) && near(ours, own, 0.02) {
				equal++
			}
		}
		// The emulator may have to wait between a probe and the module's look at the clock.
		if equal == 0 {
			t.Error("none of three rounds is within 2 %")
		}
	})

	t.Run("deep", func(t *testing.T) {
		took := measured["deep"]
		got := spans(t, "--span", "known_deep", "--label", "n", file)
		if len(got) != 10 || len(took) != 10 {
			t.Fatalf("%d times, of %d: %v", len(got), len(took), got)
		}
		for i, l := range got {
			// It is around what the call has measured, and within what its caller has.
			most := took[i] + took[i]/10 + 20e6
			if i%5 > 0 {
				most = took[i-1]
			}
			if l.Labels["n"] != float64(5-i%5) || l.Duration < took[i] || l.Duration > most {
				t.Errorf("call %d, %v: %d ns, the module has measured %d", i, l.Labels, l.Duration, took)
			}
		}
	})
}
