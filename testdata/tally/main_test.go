package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
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
		{"skips that may be", log, true, allowed{tests: map[string]string{"p TestA/y": "why"}}, 0, "1 passed, 0 failed, 1 skipped", true},
		{"parts of such", log, true, allowed{tests: map[string]string{"p TestA": "why"}}, 0, "1 passed, 0 failed, 1 skipped", true},
		{"lacking what may be", log, true, allowed{lacking: []string{"perf"}}, 0, "1 passed, 0 failed, 1 skipped", true},
		{"lacking something else", log, true, allowed{lacking: []string{"per", "rustc"}}, 0, "1 passed, 1 failed, 0 skipped", false},
		{"others may not", log, true, allowed{tests: map[string]string{"p TestA/x": "why", "q TestA": "why"}}, 0, "1 passed, 1 failed, 0 skipped", false},
		{"too few", log, false, allowed{}, 2, "1 passed, 1 failed, 1 skipped", false},
		{"cut off", log + `{"Action":"run","Package":"q","Test":"TestB"}` + "\n" + `{"Action":"fail","Package":"q"}`, false, allowed{}, 0, "1 passed, 1 failed, 1 skipped", false},
		{"package fails alone", log + `{"Action":"fail","Package":"q"}`, false, allowed{}, 0, "1 passed, 1 failed, 1 skipped", false},
		{"does not build", log + `{"ImportPath":"q [q.test]","Action":"build-fail"}`, false, allowed{}, 0, "1 passed, 1 failed, 1 skipped", false},
		{"no JSON", log + "go: no such tool\n", false, allowed{}, 0, "1 passed, 1 failed, 1 skipped", false},
		{"a test and its part fail as one", failing("p", "TestC/x"), false, allowed{}, 0, "0 passed, 1 failed, 0 skipped", false},
		{"a test fails beside its parts", parentAlone, false, allowed{}, 0, "1 passed, 1 failed, 0 skipped", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := tally{}
			if err := all.read("run", strings.NewReader(tt.log)); err != nil {
				t.Fatal(err)
			}
			if ok, last, whole := lastLine(all, policy{strict: tt.strict, skip: tt.may, least: tt.least}); last != tt.want || ok != tt.ok {
				t.Errorf("%v, %q; want %v, %q\n%s", ok, last, tt.ok, tt.want, whole)
			}
		})
	}
}

// lastLine is whether a report says that all is well, its last line, and the whole of it.
func lastLine(all tally, p policy) (ok bool, last, whole string) {
	var out strings.Builder
	ok = all.report(&out, p)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	return ok, lines[len(lines)-1], out.String()
}

// failing is the log of a package in which the given tests fail.
func failing(pkg string, tests ...string) string { return ended("fail", pkg, tests...) }

func ended(how, pkg string, tests ...string) string {
	var b strings.Builder
	event := func(action, test string) {
		fmt.Fprintf(&b, `{"Action":%q,"Package":%q,"Test":%q}`+"\n", action, pkg, test)
	}
	for _, test := range tests {
		parent, _, sub := strings.Cut(test, "/")
		event("run", parent)
		if sub {
			event("run", test)
			event(how, test)
		}
		event(how, parent)
	}
	fmt.Fprintf(&b, `{"Action":%q,"Package":%q}`+"\n", how, pkg)
	return b.String()
}

const parentAlone = `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestA/x"}
{"Action":"pass","Package":"p","Test":"TestA/x"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"fail","Package":"p"}
`

func TestAgain(t *testing.T) {
	four := []string{"TestA", "TestB/x", "TestC", "TestE"}
	for _, tt := range []struct {
		name, first, again string
		steady             bool
		want               string
		ok                 bool
	}{
		{"passes", failing("p", "TestB/x"), ended("pass", "p", "TestB/x"), false, "1 passed, 0 failed, 0 skipped, 1 unsteady", true},
		{"passes, which may not be", failing("p", "TestB/x"), ended("pass", "p", "TestB/x"), true, "0 passed, 1 failed, 0 skipped, 1 unsteady", false},
		{"passes in a guest", failing("p@6.1", "TestB/x"), ended("pass", "p@6.1", "TestB/x"), true, "1 passed, 0 failed, 0 skipped, 1 unsteady", true},
		{"too many in a guest", failing("p@6.1", four...), ended("pass", "p@6.1", four...), true, "4 passed, 1 failed, 0 skipped, 4 unsteady", false},
		{"passes, for a known reason", failing("p", "TestD/x"), ended("pass", "p", "TestD/x"), true, "1 passed, 0 failed, 0 skipped, 1 run again", true},
		{"fails again for a known reason", failing("p", "TestD"), failing("p", "TestD"), false, "0 passed, 1 failed, 0 skipped", false},
		{"fails again", failing("p", "TestB/x"), failing("p", "TestB/x"), false, "0 passed, 1 failed, 0 skipped", false},
		{"one of two", failing("p", "TestA", "TestB/x"), ended("pass", "p", "TestA") + failing("p", "TestB/x"), false, "1 passed, 1 failed, 0 skipped, 1 unsteady", false},
		{"too many", failing("p", four...), ended("pass", "p", four...), false, "4 passed, 1 failed, 0 skipped, 4 unsteady", false},
		{"of another package", failing("p", "TestA"), ended("pass", "q", "TestA"), false, "1 passed, 1 failed, 0 skipped", false},
		{"more than before", failing("p", "TestA"), ended("pass", "p", "TestA") + failing("p", "TestB"), false, "1 passed, 1 failed, 0 skipped, 1 unsteady", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := tally{}
			for _, log := range [][2]string{{"a.json", tt.first}, {"a.again.json", tt.again}} {
				if err := all.read(log[0], strings.NewReader(log[1])); err != nil {
					t.Fatal(err)
				}
			}
			if ok, last, whole := lastLine(all, policy{strict: true, steady: tt.steady, retry: allowed{tests: map[string]string{"p TestD": "perf fails"}}}); last != tt.want || ok != tt.ok {
				t.Errorf("%v, %q; want %v, %q\n%s", ok, last, tt.ok, tt.want, whole)
			}
		})
	}
}

// TestMessages: what the go command says beside the tests is a failure, but not that it
// downloads modules, as it does on a machine that has none.
func TestMessages(t *testing.T) {
	livetest.Table(t, func(said string) string {
		all := tally{}
		if err := all.read("a.json", strings.NewReader(said+ended("pass", "p", "TestA"))); err != nil {
			t.Fatal(err)
		}
		ok, last, _ := lastLine(all, policy{strict: true})
		return fmt.Sprint(last, ": ", ok)
	}, map[string]string{
		"go: downloading github.com/google/go-cmp v0.7.0\n": "1 passed, 0 failed, 0 skipped: true",
		"go: no module in this folder\n":                    "1 passed, 1 failed, 0 skipped: false",
	})
}

func TestPrintFailed(t *testing.T) {
	all := tally{}
	if err := all.read("a.json", strings.NewReader(failing("p", "TestB/x", "TestA"))); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	all.printFailed(&out)
	if got, want := out.String(), "p TestA\np TestB\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestSkipped(t *testing.T) {
	all := tally{}
	three := log + `{"Action":"run","Package":"q","Test":"TestB"}
{"Action":"output","Package":"q","Test":"TestB","Output":"    b_test.go:7: needs perf\n"}
{"Action":"skip","Package":"q","Test":"TestB"}
{"Action":"run","Package":"q","Test":"TestC"}
{"Action":"skip","Package":"q","Test":"TestC"}
`
	if err := all.read("run", strings.NewReader(three)); err != nil {
		t.Fatal(err)
	}
	for verbose, want := range map[bool]string{
		false: "skipped: 2 needs perf; 1 no reason given\n1 passed, 0 failed, 3 skipped\n",
		true:  "skip p TestA/y (run): needs perf\nskip q TestB (run): needs perf\nskip q TestC (run): no reason given\nskipped: 2 needs perf; 1 no reason given\n1 passed, 0 failed, 3 skipped\n",
	} {
		var out strings.Builder
		all.report(&out, policy{verbose: verbose})
		if out.String() != want {
			t.Errorf("verbose %v:\n%swant\n%s", verbose, out.String(), want)
		}
	}
}

func TestReadAllowed(t *testing.T) {
	name := filepath.Join(t.TempDir(), "list")
	for text, ok := range map[string]bool{"# a b\np TestA why not\nlacking: rustc\n": true, "p TestA\n": false} {
		livetest.WriteFile(t, name, text)
		a, err := readAllowed(name)
		if (err == nil) != ok || ok && (a.reason(id{pkg: "p", test: "TestA/x"}) != "why not" || len(a.tests) != 1) {
			t.Errorf("%q: %+v, %v", text, a, err)
		}
	}
}
