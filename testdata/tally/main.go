// Tally reads what go test -json printed and says which tests failed and which
// were skipped, and why.
//
//	tally [-v] [-may-skip FILE] [-may-retry FILE] [-steady] [-min N] LOG...
//	tally -failed LOG...
//	tally -slow LOG...
//
// The log of tests that were run again since they had failed in X.json is
// X.again.json: one that passes there is told, and no failure, if the file of
// -may-retry names it with a reason. Any other is unsteady: with -steady each of
// them has failed but for those in emulated machines (PACKAGE@GUEST), which wait when their
// host is busy; else only many are a failure. With -failed it only prints what to
// run again, "PACKAGE TEST". A test that was cut off has failed for good: those after it
// did not run. With -slow it only prints which packages and tests took longest.
//
// It prints what failed with all that it said, a line of how many tests were skipped for
// which reason (with -v, a line each), the failures once more, only with what they assert,
// and "N passed, N failed, N skipped", where a test with
// subtests counts as these, and a package of this module goes by its folder. With -may-skip, a test that was skipped has failed
// unless FILE names it, or the test that it is a part of, or what it lacks; with
// -min, fewer than N passed tests are a failure too.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
)

// event is one line of test2json (go doc test2json).
type event struct {
	Action, Package, ImportPath, Test, Output string
	Elapsed                                   float64
}

// id names a test of one run; test is empty for its package as a whole.
type id struct{ run, pkg, test string }

func (i id) String() string { return strings.TrimSuffix(i.pkg+" "+i.test, " ") }

type result struct {
	action  string // pass, fail, skip; empty while it runs
	again   string // what it was when it was run again
	output  strings.Builder
	parent  bool    // it has subtests
	elapsed float64 // in seconds
	cut     bool    // it had not ended when its package did
}

type tally map[id]*result

func (t tally) at(i id) *result {
	if t[i] == nil {
		t[i] = &result{}
	}
	return t[i]
}

func main() {
	maySkip := flag.String("may-skip", "", "`file` with the tests that may be skipped: lines \"PACKAGE TEST why\", and \"lacking: PROGRAM\"")
	failed := flag.Bool("failed", false, "print the tests that failed, to run them again")
	mayRetry := flag.String("may-retry", "", "`file` with the tests that may fail once: lines \"PACKAGE TEST why\"")
	least := flag.Int("min", 0, "fail when fewer tests than `N` passed")
	steady := flag.Bool("steady", false, "fail when a test passed only when it was run again")
	slow := flag.Bool("slow", false, "print which packages and tests took longest")
	verbose := flag.Bool("v", false, "list the tests that were skipped")
	flag.Parse()
	t := tally{}
	logs := flag.Args()
	slices.SortStableFunc(logs, func(a, b string) int { // second tries last
		return cmp.Compare(strings.Count(a, againSuffix), strings.Count(b, againSuffix))
	})
	for _, name := range logs {
		if err := t.readFile(name); err != nil {
			fmt.Fprintln(os.Stderr, "tally:", err)
			os.Exit(2)
		}
	}
	if *failed {
		t.printFailed(os.Stdout)
		return
	}
	if *slow {
		t.printSlow(os.Stdout)
		return
	}
	p := policy{strict: *maySkip != "", steady: *steady, least: *least, verbose: *verbose}
	for name, list := range map[string]*allowed{*maySkip: &p.skip, *mayRetry: &p.retry} {
		if name == "" {
			continue
		}
		var err error
		if *list, err = readAllowed(name); err != nil {
			fmt.Fprintln(os.Stderr, "tally:", err)
			os.Exit(2)
		}
	}
	if !t.report(os.Stdout, p) {
		os.Exit(1)
	}
}

// policy is what counts as a failure, and what is shown.
type policy struct {
	strict  bool    // a test that was skipped has failed
	skip    allowed // unless it is one of these
	retry   allowed // what may pass only when it is run again
	steady  bool    // any other that does so has failed
	least   int     // number of tests that pass
	verbose bool    // show each test that was skipped
}

// allowed is what may be skipped, or run again.
type allowed struct {
	tests   map[string]string // reason by "PACKAGE TEST"
	lacking []string          // words of a test that says what it needs
}

func readAllowed(name string) (allowed, error) {
	b, err := os.ReadFile(name)
	a := allowed{tests: map[string]string{}}
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		switch f := strings.Fields(line); {
		case len(f) == 0 || strings.HasPrefix(f[0], "#"):
		case f[0] == "lacking:" && len(f) == 2:
			a.lacking = append(a.lacking, f[1])
		case len(f) < 3:
			return a, fmt.Errorf("%s:%d: wants PACKAGE TEST and a reason", name, n)
		default:
			a.tests[f[0]+" "+f[1]] = strings.Join(f[2:], " ")
		}
	}
	return a, err
}

// reason is why a test, or one that it is a part of, is in the list; empty if none
// is.
func (a allowed) reason(i id) string {
	for test := i.test; ; {
		if why := a.tests[i.pkg+" "+test]; why != "" {
			return why
		}
		slash := strings.LastIndexByte(test, '/')
		if slash < 0 {
			return ""
		}
		test = test[:slash]
	}
}

// has reports whether a test may be skipped with what it said.
func (a allowed) has(i id, said string) bool {
	words := strings.FieldsFunc(said, func(r rune) bool { return r == ' ' || r == ',' || r == '\n' })
	if slices.Contains(words, "needs") && slices.ContainsFunc(a.lacking, func(p string) bool { return slices.Contains(words, p) }) {
		return true
	}
	return a.reason(i) != ""
}

func (t tally) readFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return t.read(name, f)
}

// againSuffix is what the name of a log ends in that holds second tries.
const againSuffix = ".again.json"

func (t tally) read(run string, r io.Reader) error {
	if first, ok := strings.CutSuffix(run, againSuffix); ok {
		again := tally{}
		err := again.read("", r)
		for i, r := range again {
			i.run = first + ".json"
			if t[i] == nil { // it had not come to it
				t[i] = r
			} else {
				t[i].again = r.action
			}
		}
		return err
	}
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if len(line) > 0 {
			t.line(run, line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", run, err)
		}
	}
}

// modulePath is that of the module that tally is a part of, whose packages go by their
// folders.
var modulePath = func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return info.Main.Path
}()

// line takes one line of a log. What is not an event is a message of the go
// command, which goes wherever the tests of no package go, and counts as a failure; that it
// downloads modules is none.
func (t tally) line(run string, line []byte) {
	if bytes.HasPrefix(line, []byte("go: downloading ")) {
		return
	}
	var e event
	if json.Unmarshal(line, &e) != nil {
		t.at(id{run: run}).output.Write(line)
		return
	}
	if e.Package == "" {
		e.Package, _, _ = strings.Cut(e.ImportPath, " ")
	}
	e.Package = strings.TrimPrefix(e.Package, modulePath+"/")
	r := t.at(id{run, e.Package, e.Test})
	switch e.Action {
	case "output", "build-output":
		r.output.WriteString(e.Output)
	case "pass", "fail", "skip":
		r.action, r.elapsed = e.Action, e.Elapsed
	case "build-fail":
		r.action = "fail"
	case "run":
		if i := strings.LastIndexByte(e.Test, '/'); i > 0 {
			t.at(id{run, e.Package, e.Test[:i]}).parent = true
		}
	}
}

// maxUnsteady is how many tests may fail once. A machine that does much else
// beside makes one or two of thousands fail; more are the code's fault.
const maxUnsteady = 3

// report writes what happened, failures first, and reports whether all is well.
func (t tally) report(w io.Writer, p policy) bool {
	passed, failed, unsteady, emulated, retried := 0, 0, 0, 0, 0
	var skips skipped
	var short verdict
	t.finish()
	ids := t.sorted()
	blamed := t.blamed()
	for _, i := range ids {
		r := t[i]
		switch said := indent(r.output.String()); {
		case i.test == "" && (blamed[i] || r.action != "fail" && (i.pkg != "" || r.output.Len() == 0)):
		case r.action == "fail" && r.again == "pass" && !r.cut:
			if blamed[i] {
				continue
			}
			if why := p.retry.reason(i); why != "" {
				retried++
				fmt.Fprintf(w, "again %v: failed, and passed when it was run again, as it may: %s (%s)\n", i, why, i.run)
				continue
			}
			unsteady++
			if strings.Contains(i.pkg, "@") {
				emulated++
			}
			short.add("UNSTEADY", i, r.output.String())
			fmt.Fprintf(w, "UNSTEADY %v: failed, and passed when it was run again (%s)\n%s", i, i.run, said)
		case r.action == "fail" || i.test == "":
			if !blamed[i] {
				failed++
				short.add("FAIL", i, r.output.String())
			}
			fmt.Fprintf(w, "FAIL %v (%s)\n%s", i, i.run, said)
		case r.action == "skip" && p.strict && !p.skip.has(i, said):
			failed++
			short.add("FAIL", i, "skipped, but this machine can run it\n"+said)
			fmt.Fprintf(w, "FAIL %v: skipped, but this machine can run it (%s)\n%s", i, i.run, said)
		case r.action == "skip":
			skips.add(i, said)
		case !r.parent:
			passed++
		}
	}
	passed += unsteady + retried
	if here := unsteady - emulated; p.steady && here > 0 {
		fmt.Fprintf(w, "FAIL: %d tests passed only when they were run again, for no reason known\n", here)
		failed += here
		passed -= here
	} else if unsteady > maxUnsteady {
		fmt.Fprintf(w, "FAIL: %d tests passed only when they were run again\n", unsteady)
		failed++
	}
	if passed < p.least {
		fmt.Fprintf(w, "FAIL: %d tests passed, and there should be %d\n", passed, p.least)
		failed++
	}
	skips.print(w, p.verbose)
	short.print(w)
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped", passed, failed, len(skips.all))
	if unsteady > 0 {
		fmt.Fprintf(w, ", %d unsteady", unsteady)
	}
	if retried > 0 {
		fmt.Fprintf(w, ", %d run again", retried)
	}
	fmt.Fprintln(w)
	return failed == 0
}

func (t tally) sorted() []id {
	return slices.SortedFunc(maps.Keys(t), func(a, b id) int {
		return cmp.Or(cmp.Compare(a.run, b.run), cmp.Compare(a.pkg, b.pkg), cmp.Compare(a.test, b.test))
	})
}

// finish has tests fail that ran when their package ended: a panic, or a timeout.
func (t tally) finish() {
	for i, r := range t {
		if i.test != "" && r.action == "" {
			r.action, r.cut = "fail", true
		}
	}
}

// blamed is the packages and tests whose failure one of their tests explains.
func (t tally) blamed() map[id]bool {
	blamed := map[id]bool{}
	for i, r := range t {
		if i.test == "" || r.action != "fail" {
			continue
		}
		blamed[id{i.run, i.pkg, ""}] = true
		for test := i.test; ; {
			slash := strings.LastIndexByte(test, '/')
			if slash < 0 {
				break
			}
			test = test[:slash]
			blamed[id{i.run, i.pkg, test}] = true
		}
	}
	return blamed
}

// printFailed prints each failed test, without its subtests, after its package.
func (t tally) printFailed(w io.Writer) {
	t.finish()
	seen := map[string]bool{}
	for _, i := range t.sorted() {
		test, _, _ := strings.Cut(i.test, "/")
		if line := i.pkg + " " + test; test != "" && t[i].action == "fail" && !seen[line] {
			seen[line] = true
			fmt.Fprintln(w, line)
		}
	}
}

// shownLines is how many lines of a test's output are shown at least, half from
// its beginning and half from its end.
const shownLines = 60

// indent drops the lines that say no more than the result does.
func indent(output string) string {
	var b strings.Builder
	if lines := slices.Collect(strings.Lines(output)); len(lines) > 2*shownLines {
		gap := fmt.Sprintf("... %d lines\n", len(lines)-shownLines)
		output = strings.Join(slices.Concat(lines[:shownLines/2], []string{gap}, lines[len(lines)-shownLines/2:]), "")
	}
	for line := range strings.Lines(output) {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.HasPrefix(trimmed, "=== ") || strings.HasPrefix(trimmed, "--- ") {
			continue
		}
		b.WriteString("    " + strings.TrimSuffix(line, "\n") + "\n")
	}
	return b.String()
}
