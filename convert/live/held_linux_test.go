package live_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// memoryLine is as perf script prints kmalloc and kfree.
var memoryLine = regexp.MustCompile(`kmem:(kmalloc|kfree):.* ptr=(0x[0-9a-f]+)(?:.* bytes_alloc=([0-9]+))?`)

// TestLiveHeld: what the kernel has allocated while perf recorded, and what of it was not
// freed, is what comes of perf's own text, pointer by pointer.
func TestLiveHeld(t *testing.T) {
	livetest.RequireKernel(t, livetest.Root, livetest.Tracefs)
	livetest.RequirePrograms(t, "perf")
	file := filepath.Join(t.TempDir(), "perf.data")
	if out, err := livetest.PerfCommand(t, "record", "-q", "-a", "-g", "-m", "8M", "-o", file, "-e", "kmem:kmalloc,kmem:kfree",
		"--", "sh", "-c", "ls -R /etc > /dev/null; sleep 0.1").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p := openSpans(t, file, "span:kmalloc")
	out, err := livetest.PerfCommand(t, "script", "-i", file, "-F", "event,trace").Output()
	if err != nil {
		t.Fatal(err)
	}
	var objects, space, unbegun int64
	held := map[string]int64{}
	for line := range strings.Lines(string(out)) {
		m := memoryLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if m[1] == "kmalloc" {
			n, err := strconv.ParseInt(m[3], 10, 64)
			if err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			objects, space, held[m[2]] = objects+1, space+n, n
		} else if _, known := held[m[2]]; known {
			delete(held, m[2])
		} else if strings.Trim(m[2], "0x") != "" {
			unbegun++
		}
	}
	want := []int64{objects, space, int64(len(held)), 0}
	for _, n := range held {
		want[3] += n
	}
	if got := p.Set.Totals(0); !slices.Equal(got, want) || p.Stats.Spans[0].Unbegun != uint64(unbegun) || objects < 100 {
		t.Errorf("%d, %+v; perf's text comes to %d, and %d that were there before", got, p.Stats.Spans[0], want, unbegun)
	}
}
