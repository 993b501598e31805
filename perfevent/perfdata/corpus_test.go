package perfdata_test

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
)

// expectedNames are the names in EXPECTED.tsv that differ from perf's.
var expectedNames = map[string]string{"HEADER_ATTR": "ATTR", "HEADER_EVENT_TYPE": "EVENT_TYPE", "HEADER_FEATURE": "FEATURE"}

// TestCorpus counts the records of every recording. The expected counts were made
// by walking the records without any reader of perf.data.
func TestCorpus(t *testing.T) {
	for dir, table := range livetest.RecordCounts(t) {
		checkCounts(t, dir, table)
	}
}

func checkCounts(t *testing.T, dir, table string) {
	f := livetest.Open(t, os.Open, table)
	sc := bufio.NewScanner(f)
	sc.Scan() // headings
	for sc.Scan() {
		col := strings.Split(sc.Text(), "\t")
		t.Run(col[0], func(t *testing.T) {
			want := map[string]int{}
			for _, w := range strings.Fields(col[5]) {
				name, n, _ := strings.Cut(w, "=")
				if perf, ok := expectedNames[name]; ok {
					name = perf
				}
				if num, err := strconv.Atoi(name); err == nil {
					name = abi.RecordType(num).String()
				}
				want[name], _ = strconv.Atoi(n)
			}
			damaged := strings.Contains(col[3], "DAMAGED")
			got := map[string]int{}
			r := perftext.Open(t, filepath.Join(dir, col[0]))
			for rec, err := range r.Records() {
				var trunc *perfdata.TruncatedError
				if damaged && errors.As(err, &trunc) {
					t.Log(err)
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got[rec.Type.String()]++
			}
			for name, n := range want {
				if got[name] != n {
					t.Errorf("%s: %d records, want %d", name, got[name], n)
				}
			}
			for name, n := range got {
				if want[name] == 0 {
					t.Errorf("%s: %d records, want none", name, n)
				}
			}
			for _, err := range r.BadFeatures {
				t.Errorf("feature %v", err)
			}
		})
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
}
