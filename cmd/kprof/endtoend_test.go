//go:build linux

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// scriptFold folds the text of perf script the way stackcollapse-perf.pl does.
// It is written anew from what that script puts out, to have something to
// compare with where the script is not installed; TestScriptFold compares both.
type scriptFold struct {
	lines map[string]uint64
	event string // the first event that has a name in its line; others are left out

	// exited is the weight of the samples of tasks that have no pid any more,
	// which are dropped: their line is taken for none.
	exited uint64

	// atStart are the lines with a caller whose return address is the first
	// byte of a function. Perf names that function; the call was the last
	// instruction of the one before it. The frame is boundary and that name here,
	// and stands for any other name, or for no frame, since names that start with
	// "(" are left out.
	atStart map[string]uint64
}

const boundary = "\x00"

var (
	scriptHead   = regexp.MustCompile(`^(\S.+?)\s+(-?\d+)/*(\d+)*\s+`)
	scriptPeriod = regexp.MustCompile(`:\s*(\d+)*\s+(\S+):\s*$`)
	scriptFrame  = regexp.MustCompile(`^\s*(\w+)\s*(.+) \((.*)\)`)
	scriptOffset = regexp.MustCompile(`\+0x[\da-f]+$`)
	// Signal handlers return to the first byte of these, which nothing calls.
	sigreturn = regexp.MustCompile(`sigreturn|^__restore`)
	// What these have interrupted, which is above them, is no caller (x86: idtentry.h).
	interrupt  = regexp.MustCompile(`^asm_(sysvec_|exc_|common_interrupt|spurious_interrupt|fred_entrypoint_)`)
	scriptArgs = regexp.MustCompile(`\.\(.*\)\.`)
)

// foldScript folds text. With boundaries, frames at the first byte of a function
// are told apart.
func foldScript(text io.Reader, boundaries bool) (*scriptFold, error) {
	f := &scriptFold{lines: map[string]uint64{}, atStart: map[string]uint64{}}
	var comm string
	var frames []string // innermost first
	var weight uint64
	// inner is the half of the frame before, innerName its symbol. The first frame, and the
	// first of user space behind those of the kernel, are no callers but where the CPU was.
	inner, innerName := notYet, ""
	skip, exited, odd := true, false, false
	flush := func() {
		switch {
		case exited:
			f.exited += weight
		case skip:
		case odd:
			slices.Reverse(frames)
			f.atStart[strings.Join(append([]string{comm}, frames...), ";")] += weight
		default:
			slices.Reverse(frames)
			f.lines[strings.Join(append([]string{comm}, frames...), ";")] += weight
		}
		frames, inner, innerName, skip, exited, odd = nil, notYet, "", true, false, false
	}
	sc := bufio.NewScanner(text)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		line := sc.Text()
		if strings.HasPrefix(line, "#") {
			continue
		}
		if line == "" {
			flush()
			continue
		}
		if m := scriptHead.FindStringSubmatch(line); m != nil && !strings.HasPrefix(line, "\t") {
			weight, skip = 1, false
			if p := scriptPeriod.FindStringSubmatch(line); p != nil {
				if p[1] != "" {
					var err error
					if weight, err = strconv.ParseUint(p[1], 10, 64); err != nil {
						return nil, err
					}
				}
				if f.event == "" {
					f.event = p[2]
				}
				skip = p[2] != f.event
			}
			exited = m[2] == "-1"
			comm = strings.ReplaceAll(m[1], " ", "_")
			continue
		}
		m := scriptFrame.FindStringSubmatch(line)
		switch {
		case m == nil || skip:
		case boundaries && halfOf(m[1]) == inner && strings.HasSuffix(m[2], "+0x0") && !sigreturn.MatchString(m[2]) && !interrupt.MatchString(innerName):
			frames, odd = append(frames, boundary+scriptName(m[2], m[3])), true
		case !strings.HasPrefix(m[2], "("):
			frames = append(frames, scriptName(m[2], m[3]))
		}
		if m != nil {
			inner, innerName = halfOf(m[1]), m[2]
		}
	}
	flush()
	return f, sc.Err()
}

// half is which half of the address space a frame lies in.
type half int

const (
	notYet half = iota
	userHalf
	kernelHalf
)

func halfOf(hex string) half {
	if len(hex) == 16 && hex[0] >= '8' {
		return kernelHalf
	}
	return userHalf
}

// scriptName is what becomes of a symbol and its file.
func scriptName(sym, file string) string {
	name := scriptOffset.ReplaceAllString(sym, "")
	if name == "[unknown]" {
		if file != "[unknown]" {
			name = "[" + file[strings.LastIndexByte(file, '/')+1:] + "]"
		}
	}
	name = strings.ReplaceAll(name, ";", ":")
	if !scriptArgs.MatchString(name) {
		for i := 0; i < len(name); i++ {
			if name[i] == '(' && !strings.HasPrefix(name[i:], "(anonymous namespace)") {
				name = name[:i]
			}
		}
	}
	return anyStub(strings.NewReplacer(`"`, "", "'", "").Replace(name))
}

// stub is a frame in a linkage table.
var stub = regexp.MustCompile(`[^;]*@plt(;|$)`)

// anyStub leaves away whose stubs frames are: perf before 6.3 takes relocations of IFUNCs for
// being in the order of the stubs.
func anyStub(line string) string { return stub.ReplaceAllString(line, "@plt$1") }

// foldedLines are folded lines that can be read.
func foldedLines(t *testing.T, r io.Reader) map[string]uint64 {
	t.Helper()
	lines, err := readFolded(r)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// scriptLines is what foldScript makes of text that it can read.
func scriptLines(t *testing.T, text io.Reader, boundaries bool) *scriptFold {
	t.Helper()
	f, err := foldScript(text, boundaries)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// readFolded reads folded lines.
func readFolded(r io.Reader) (map[string]uint64, error) {
	lines := map[string]uint64{}
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		i := strings.LastIndexByte(sc.Text(), ' ')
		if i < 0 {
			return nil, fmt.Errorf("no weight in %q", sc.Text())
		}
		n, err := strconv.ParseUint(sc.Text()[i+1:], 10, 64)
		if err != nil {
			return nil, err
		}
		lines[anyStub(sc.Text()[:i])] += n
	}
	return lines, sc.Err()
}

// subtract takes b from a and returns what is left on either side.
func subtract(a, b map[string]uint64) (onlyA, onlyB map[string]uint64) {
	onlyA, onlyB = maps.Clone(a), map[string]uint64{}
	for line, n := range b {
		switch has := onlyA[line]; {
		case has > n:
			onlyA[line] -= n
		case has == n:
			delete(onlyA, line)
		default:
			delete(onlyA, line)
			onlyB[line] = n - has
		}
	}
	return onlyA, onlyB
}

// unnamed tells lines with a frame of which perf knows only the file.
var unnamed = regexp.MustCompile(`;\[[^];]+\](;|$)`)

// betterNamed removes the lines of programs whose functions kprof can name and
// perf cannot, which are those of Go without a symbol table: kprof has lines of
// the same comm and depth with the same weight for them. It returns the weight.
func betterNamed(perf, kprof map[string]uint64) (weight uint64) {
	better := map[string]bool{}
	for line := range perf {
		if unnamed.MatchString(line) {
			better[shapeOf(line).comm] = true
		}
	}
	balance := map[shape]int64{}
	for line, n := range perf {
		balance[shapeOf(line)] += int64(n)
	}
	for line, n := range kprof {
		balance[shapeOf(line)] -= int64(n)
	}
	maps.DeleteFunc(perf, func(line string, n uint64) bool {
		s := shapeOf(line)
		if !better[s.comm] || balance[s] != 0 {
			return false
		}
		weight += n
		return true
	})
	maps.DeleteFunc(kprof, func(line string, _ uint64) bool {
		s := shapeOf(line)
		return better[s.comm] && balance[s] == 0
	})
	return weight
}

// emptiedByPerf removes the lines of a comm without any frame. Where a garbled
// return address looks like a mark of a context that perf does not know (a code
// built without frame pointers leaves -1, say), perf drops all frames of the
// sample, of the kernel too; kprof drops that one. The frames that perf dropped
// cannot be compared, so their weight is: kprof has lines of the same comm for
// it. It returns the weight.
func emptiedByPerf(perf, kprof map[string]uint64) (weight uint64) {
	for comm, n := range perf {
		if strings.Contains(comm, ";") {
			continue
		}
		delete(perf, comm)
		weight += n
		left := n
		for line, m := range kprof {
			if strings.HasPrefix(line, comm+";") && left > 0 {
				take := min(left, m)
				left -= take
				if kprof[line] -= take; kprof[line] == 0 {
					delete(kprof, line)
				}
			}
		}
		if left > 0 {
			perf[comm] = left
		}
	}
	return weight
}

// endToEndLoad is a command with several processes, threads, deep stacks and
// short lives, of programs as [ownPrograms] names them.
const endToEndLoad = `for i in 1 2 3; do
	own-find /usr/share /proc/self -maxdepth 3 -type f 2>/dev/null | own-head -2000 | own-sort | own-wc -l
	own-perl -e 'my %h; $h{$_} = [$_] for 1..30000; my @k = sort keys %h;' &
	own-ls -lR /usr/include | own-gzip -1 | own-sha256sum
	wait
done >/dev/null`

// ownPrograms puts the programs of endToEndLoad into PATH by names of their own, and returns what
// to compare: these, the idle task, and ":-1" for what has exited. What else runs on a machine is not
// compared. Of programs without frame pointers or symbols, perf and kprof may make different things;
// and for perf 6.1 an address space outlives an exec, so that an ls that a program of Go became has
// that one's functions at garbled return addresses.
func ownPrograms(t *testing.T) (comms []string) {
	dir := t.TempDir()
	for _, name := range []string{"find", "head", "sort", "wc", "perl", "ls", "gzip", "sha256sum", "sh"} {
		program, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(program, filepath.Join(dir, "own-"+name)); err != nil {
			t.Fatal(err)
		}
		comms = append(comms, "own-"+name)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return append(comms, "swapper", ":-1")
}

// TestEndToEnd compares kprof's folded stacks with what perf script and
// stackcollapse-perf.pl make of the same recording: the same lines, apart from
// differences that are counted. With RECORDING it takes that one.
func TestEndToEnd(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Perf, livetest.Program("perl"))
	if data := os.Getenv("RECORDING"); data != "" {
		compareWithPerf(t, data, nil)
		return
	}
	comms := ownPrograms(t)
	for _, event := range []string{"cpu-clock", "sched:sched_switch", "syscalls:sys_enter_openat"} {
		t.Run(event, func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "perf.data")
			command(t, nil, "perf", "record", "-q", "-a", "-g", "-m", "4M", "-e", event, "-o", data, "--", "own-sh", "-c", endToEndLoad)
			compareWithPerf(t, data, comms)
		})
	}
}

// compareWithPerf compares the stacks of these commands, or of all.
func compareWithPerf(t *testing.T, data string, comms []string) {
	t.Helper()
	text := command(t, nil, "perf", "script", "--no-inline", "-i", data)
	want := scriptLines(t, bytes.NewReader(text), true)
	out := filepath.Join(t.TempDir(), "out.folded")
	if code := run([]string{"convert", data, "-o", out}); code != 0 {
		t.Fatalf("kprof convert: exit code %d", code)
	}
	folded, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	got := foldedLines(t, bytes.NewReader(folded))
	if lines := strings.SplitAfter(string(folded), "\n"); !slices.IsSorted(lines[:len(lines)-1]) {
		t.Error("lines are not sorted")
	}
	for _, lines := range []map[string]uint64{want.lines, want.atStart, got} {
		maps.DeleteFunc(lines, func(line string, _ uint64) bool {
			comm, _, _ := strings.Cut(line, ";")
			return comms != nil && !slices.Contains(comms, comm)
		})
	}
	compareFolded(t, want, got)
}

// alike rewrites what two libraries that read mangled names write differently: perf's
// leaves out the blank of "> >" after an empty list of template arguments, and
// the "::" before a Rust name that is empty.
var alike = strings.NewReplacer("> >", ">>", "::>", ">")

func rewritten(lines map[string]uint64) map[string]uint64 {
	out := make(map[string]uint64, len(lines))
	for line, n := range lines {
		out[alike.Replace(line)] += n
	}
	return out
}

func compareFolded(t *testing.T, want *scriptFold, got map[string]uint64) {
	t.Helper()
	missing, extra := subtract(want.lines, got)
	missing, extra = subtract(rewritten(missing), rewritten(extra))
	want.atStart = rewritten(want.atStart)
	equal := len(want.lines) - len(missing)
	boundaries := len(want.atStart)
	for line, n := range settle(want.atStart, extra) {
		missing[line] += n
	}
	emptied := emptiedByPerf(missing, extra)
	better := betterNamed(missing, extra)
	var exited uint64
	for line, n := range extra {
		if strings.HasPrefix(line, ":-1;") {
			exited += n
			delete(extra, line)
		}
	}
	if exited != want.exited {
		t.Errorf("%d of samples whose task had exited, perf has %d", exited, want.exited)
	}
	t.Logf("%d lines are equal; %d have a caller that ends at the next function; samples of exited tasks weigh %d, those that kprof alone can name %d, those that perf emptied %d",
		equal, boundaries, exited, better, emptied)
	if equal < 20 {
		t.Errorf("only %d lines are equal: the load was too small to tell anything", equal)
	}
	show := func(what string, lines map[string]uint64) {
		for i, line := range slices.Sorted(maps.Keys(lines)) {
			if i == 5 {
				t.Errorf("... %d lines", len(lines))
				break
			}
			t.Errorf("%s: %q %d", what, line, lines[line])
		}
	}
	show("only perf has", missing)
	show("only kprof has", extra)
}

// command runs a program and returns what it prints.
func command(t *testing.T, stdin io.Reader, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(name, args...)
	if name == "perf" {
		cmd = livetest.PerfCommand(t, args...)
	}
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = stdin, &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%.2000s", cmd, err, stderr.Bytes())
	}
	return out
}

// TestScriptFold compares scriptFold with the script that it stands for, which
// STACKCOLLAPSE names, or which is in PATH, on a recording of this machine or,
// with RECORDING, on that one.
func TestScriptFold(t *testing.T) {
	script := livetest.StackCollapse(t)
	livetest.Require(t, livetest.Root, livetest.Perf)
	data := os.Getenv("RECORDING")
	if data == "" {
		ownPrograms(t)
		data = filepath.Join(t.TempDir(), "perf.data")
		command(t, nil, "perf", "record", "-q", "-a", "-g", "-e", "cpu-clock", "-o", data, "--", "own-sh", "-c", endToEndLoad)
	}
	text := command(t, nil, "perf", "script", "--no-inline", "-i", data)
	want := foldedLines(t, bytes.NewReader(command(t, bytes.NewReader(text), "perl", script)))
	got := scriptLines(t, bytes.NewReader(text), false)
	missing, extra := subtract(want, got.lines)
	if len(missing)+len(extra) > 0 {
		t.Errorf("of %d lines the script alone has %d, this test %d: %.2000v %.2000v", len(want), len(missing), len(extra), missing, extra)
	}
}
