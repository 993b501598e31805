//go:build linux

package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// pagesBegin is what programs begin with that work on pages: units(N) touches so many anew,
// each of which is a page fault, when map() has been called; touch(N) leaves them there.
const pagesBegin = `
#include <sys/mman.h>
#include <unistd.h>
static volatile char *pages;
static long size;
#define N __attribute__((noinline))
static inline __attribute__((always_inline)) void touch(int n) { for (int i = 0; i < n; i++) pages[i * size] = 1; }
static inline __attribute__((always_inline)) void units(int n) { touch(n); madvise((void *)pages, n * size, MADV_DONTNEED); }
static void map(void)
{
	size = sysconf(_SC_PAGESIZE);
	pages = mmap(0, 300 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise((void *)pages, 300 * size, MADV_NOHUGEPAGE);
}
`

// mainBegin is the beginning of their main: a turn calls the first three functions.
const mainBegin = `int main(void)
{
	map();
	for (int i = 0; i < 50; i++) {
		first();
		second();
		third();
`

// diffLoad is a program of five functions that do the same kind of work: a unit is
// a page that they touch anew, which is a page fault. SLOW is the work of one of
// them, NAME its name as the linker has it; all have 1000 units in the base.
const diffLoad = pagesBegin + `
N void first(void) { units(300); }
N void second(void) { units(250); }
N void third(void) { units(200); }
N void fourth(void) { units(150); }
N void slow(void) __asm__(NAME);
N void slow(void) { units(SLOW); }
` + mainBegin + `		fourth();
		slow();
	}
	return 0;
}
`

// TestLiveDiffSlower builds a program, and again with other options, so that one
// function has five percent more of the samples, and another name: it must be the
// first in the table. Every page fault is a sample, so that they are the same on any
// machine.
func TestLiveDiffSlower(t *testing.T) {
	livetest.Require(t, livetest.Root)
	dir := t.TempDir()
	compile(t, dir, "base", "new")
	record := func(program string) string {
		data := filepath.Join(dir, program+".data")
		out, err := kprof(t, "record", "-q", "--no-kernel-symbols", "-m", "8M", "-e", "page-faults:u", "-c", "1", "-o", data, "--", filepath.Join(dir, program)).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return data
	}
	out, err := kprof(t, "diff", "-f", "json", record("base"), record("new")).Output()
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Base, New struct{ Samples float64 }
		Functions []struct {
			Name, Verdict string
			Self          struct{ Diff, Low, High float64 }
		}
	}
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatal(err)
	}
	// Of 1055 units it has 155, where it had 100 of 1000: 4.7 % more, less the
	// hundred faults or so of the program's start.
	f := r.Functions[0]
	t.Logf("%.0f and %.0f samples, first: %+v", r.Base.Samples, r.New.Samples, f)
	if f.Name != "slow" || f.Verdict != "more" || f.Self.Diff < 0.045 || f.Self.Diff > 0.048 {
		t.Error("slow is not the first, or has not 4.7 % more")
	}
}

// addedLoad is diffLoad's kind of work in fewer functions; with ADDED, third calls one more.
const addedLoad = pagesBegin + `
#ifdef ADDED
N void added(void) { touch(60); __asm__ volatile(""); }
#endif
N void first(void) { units(300); __asm__ volatile(""); }
N void second(void) { units(250); __asm__ volatile(""); }
N void third(void)
{
	units(200);
#ifdef ADDED
	added();
#endif
	__asm__ volatile("");
}
` + mainBegin + `		madvise((void *)pages, 300 * size, MADV_DONTNEED);
	}
	return 0;
}
`

// TestLiveDiffAdded builds a program, and again with a function more, which one of its
// functions calls: the verdict names the one, what is said of the code both, and --asm has
// the call; linked another way, which moves everything, there is no other change. Functions that
// call none have no frame, so that it is the code that says who calls the one.
func TestLiveDiffAdded(t *testing.T) {
	livetest.Require(t, livetest.Root)
	dir := t.TempDir()
	source := filepath.Join(dir, "load.c")
	livetest.WriteFile(t, source, addedLoad)
	record := func(name string, flags ...string) (program, data string) {
		program, data = filepath.Join(dir, name), filepath.Join(dir, name+".data")
		out, err := exec.Command("gcc", append([]string{"-O1", "-fno-omit-frame-pointer", "-momit-leaf-frame-pointer", "-o", program, source}, flags...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		out, err = kprof(t, "record", "-q", "--no-kernel-symbols", "-m", "8M", "-e", "page-faults:u", "-c", "1", "-o", data, "--", program).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return program, data
	}
	base, baseData := record("base")
	for name, flags := range map[string][]string{"added": nil, "aligned": {"-falign-functions=128"}} {
		new, newData := record(name, append(flags, "-DADDED")...)
		diff := func(args ...string) string {
			out, err := kprof(t, append(append([]string{"diff", "-q", "--base-elf", base, "--new-elf", new}, args...), baseData, newData)...).Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			return string(out)
		}
		text := diff()
		verdict, _, _ := strings.Cut(text, "\n")
		_, code, _ := strings.Cut(text, "\nCode differs in ")
		code, _, _ = strings.Cut(code, "\n")
		if !strings.HasPrefix(verdict, "Verdict: Changed: added ") || !strings.Contains(verdict, "in third of main") {
			t.Errorf("%s: %s", name, verdict)
		}
		if !strings.Contains(code, "added (only in new)") || !strings.Contains(code, "third (+") || !strings.Contains(code, "now calls added") ||
			strings.Contains(code, "first") || strings.Contains(code, "second") || strings.Contains(code, "main") {
			t.Errorf("%s: code differs in %s\n%s", name, code, text)
		}
		asm := diff("--asm", "third")
		if !strings.HasPrefix(asm, "third: ") || strings.Count(asm, "call added")+strings.Count(asm, "callq added") != 1 {
			t.Errorf("%s: %s", name, asm)
		}
		if same := diff("--asm", "first"); !strings.Contains(same, "the same but for addresses") {
			t.Errorf("%s: %s", name, same)
		}
	}
}
