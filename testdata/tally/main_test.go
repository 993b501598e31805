package main

import (
	"strings"
	"testing"
)

const log = `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestA/x"}
{"Action":"pass","Package":"p","Test":"TestA/x"}
{"Action":"run","Package":"p","Test":"TestA/y"}
{"Action":"output","Package":"p","Test":"TestA/y","Output":"    a_test.go:1: needs perf\n"}
{"Action":"skip","Package":"p","Test":"TestA/y"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p"}
`

func TestReport(t *testing.T) {
	for _, tt := range []struct {
		name, log string
		strict    bool
		may       allowed
		least     int
		want      string // last line
		ok        bool
	}{
		{"leaves count", log, false, allowed{}, 0, "1 passed, 0 failed, 1 skipped", true},
		{"skips fail", log, true, allowed{}, 0, "1 passed, 1 failed, 0 skipped", false},
		{"skips that may be", log, true, allowed{tests: map[string]bool{"p TestA/y": true}}, 0, "1 passed, 0 failed, 1 skipped", true},
		{"parts of such", log, true, allowed{tests: map[string]bool{"p TestA": true}}, 0, "1 passed, 0 failed, 1 skipped", true},
		{"lacking what may be", log, true, allowed{lacking: []string{"perf"}}, 0, "1 passed, 0 failed, 1 skipped", true},
		{"lacking something else", log, true, allowed{lacking: []string{"per", "rustc"}}, 0, "1 passed, 1 failed, 0 skipped", false},
		{"others may not", log, true, allowed{tests: map[string]bool{"p TestA/x": true, "q TestA": true}}, 0, "1 passed, 1 failed, 0 skipped", false},
		{"too few", log, false, allowed{}, 2, "1 passed, 1 failed, 1 skipped", false},
		{"cut off", log + `{"Action":"run","Package":"q","Test":"TestB"}` + "\n" + `{"Action":"fail","Package":"q"}`, false, allowed{}, 0, "1 passed, 1 failed, 1 skipped", false},
		{"package fails alone", log + `{"Action":"fail","Package":"q"}`, false, allowed{}, 0, "1 passed, 1 failed, 1 skipped", false},
		{"does not build", log + `{"ImportPath":"q [q.test]","Action":"build-fail"}`, false, allowed{}, 0, "1 passed, 1 failed, 1 skipped", false},
		{"no JSON", log + "go: no such tool\n", false, allowed{}, 0, "1 passed, 1 failed, 1 skipped", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := tally{}
			if err := all.read("run", strings.NewReader(tt.log)); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			ok := all.report(&out, tt.strict, tt.may, tt.least)
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if got := lines[len(lines)-1]; got != tt.want || ok != tt.ok {
				t.Errorf("%v, %q; want %v, %q\n%s", ok, got, tt.ok, tt.want, out.String())
			}
		})
	}
}
