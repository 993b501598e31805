package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestVerdictIsLast has what a test asserts at the end, however long its log is, and
// however long the logs of others are.
func TestVerdictIsLast(t *testing.T) {
	var log strings.Builder
	event := func(test, action, output string) {
		fmt.Fprintf(&log, "{\"Action\":%q,\"Package\":\"p\",\"Test\":%q,\"Output\":%q}\n", action, test, output)
	}
	for _, test := range []string{"TestA", "TestB"} {
		event(test, "run", "")
		for i := range 500 {
			event(test, "output", fmt.Sprintf("    a_test.go:7: progress %d\n", i))
		}
	}
	event("TestA", "output", "    a_test.go:9: got 1,\n        want 2\n")
	event("TestA", "output", "--- FAIL: TestA (0.1s)\n")
	event("TestA", "fail", "")
	event("TestB", "output", "panic: index out of range\n\ngoroutine 7 [running]:\n"+strings.Repeat("p.f()\n\ta.go +0x1\n", 300))
	event("TestC", "output", "    a_test.go:3: needs nothing\n")
	event("TestC", "skip", "")
	fmt.Fprintln(&log, `{"Action":"fail","Package":"p"}`)

	all := tally{}
	if err := all.read("run.json", strings.NewReader(log.String())); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if all.report(&out, policy{}) {
		t.Error("failures are none")
	}
	_, end, _ := strings.Cut(out.String(), "\nWhat failed, in short:\n")
	for _, want := range []string{"FAIL p TestA (run.json)\n", "    a_test.go:9: got 1,\n    want 2\n", "FAIL p TestB", "    panic: index out of range\n    goroutine 7"} {
		if !strings.Contains(end, want) {
			t.Errorf("%q is not in:\n%s", want, end)
		}
	}
	if n := strings.Count(end, "\n"); n > 2+2*(maxLines+1) || strings.Contains(end, "progress 400") || !strings.HasSuffix(end, "0 passed, 2 failed, 1 skipped\n") {
		t.Errorf("%d lines:\n%s", n, end)
	}
}

// TestCutOffIsNoUnsteadiness has a test that was running when its package ended fail,
// though it passes when it is run again: those after it did not run.
func TestCutOffIsNoUnsteadiness(t *testing.T) {
	all := tally{}
	for _, log := range [][2]string{
		{"x.json", `{"Action":"run","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"fail","Package":"p"}`},
		{"x.again.json", `{"Action":"run","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"pass","Package":"p","Test":"TestA"}`},
	} {
		if err := all.read(log[0], strings.NewReader(log[1])); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	if all.report(&out, policy{}) || !strings.Contains(out.String(), "FAIL p TestA") {
		t.Errorf("it has not failed:\n%s", out.String())
	}
}
