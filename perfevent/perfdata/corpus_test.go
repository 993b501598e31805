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
	"kprof/perfevent/perfdata"
)

// corpusDir holds recordings of other machines and the number of records in
// each, where a checkout has it beside the project.
const corpusDir = "../../../shared/corpus"

// expectedNames are the names in EXPECTED.tsv that differ from perf's.
var expectedNames = map[string]string{"HEADER_ATTR": "ATTR", "HEADER_EVENT_TYPE": "EVENT_TYPE", "HEADER_FEATURE": "FEATURE"}

// TestCorpus counts the records of every recording in the corpus. The expected
// counts were made by walking the records without any reader of perf.data.
func TestCorpus(t *testing.T) {
	f, err := os.Open(filepath.Join(corpusDir, "EXPECTED.tsv"))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("needs the corpus of recordings in " + corpusDir)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
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
			r, err := perfdata.Open(filepath.Join(corpusDir, "perfdata", col[0]))
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
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
