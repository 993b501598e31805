//go:build linux

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	recorded "kprof/convert/samples"
	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata/perftext"
)

// pathBuild is a way to build one of the programs of testdata/callpaths.
type pathBuild struct{ name, source, command string }

// pathBuilds are those of this machine; guests have guestPathBuilds. The first is always tested,
// the others where KPROF_CALL_PATHS, a regular expression, has their names: see
// testdata/callpaths.sh.
var pathBuilds = []pathBuild{
	{"gcc", "paths.c", "gcc -O2"},
	{"gcc no-pie", "paths.c", "gcc -O2 -no-pie"},
	{"gcc static", "paths.c", "gcc -O2 -static"},
	{"gcc static-pie", "paths.c", "gcc -O2 -static-pie"},
	{"gcc lto", "paths.c", "gcc -O3 -flto"},
	{"gcc static lto", "paths.c", "gcc -O2 -static -flto"},
	{"gcc small", "paths.c", "gcc -Os"},
	{"gcc now", "paths.c", "gcc -O2 -Wl,-z,now -fcf-protection"},
	{"gcc 32-bit", "paths.c", "gcc -O2 -m32"},
	{"g++", "paths.c", "g++ -O2 -x c++"},
	{"g++ static", "paths.c", "g++ -O2 -static -x c++"},
	{"g++ lto", "paths.c", "g++ -O3 -flto -x c++"},
	{"clang", "paths.c", "clang -O2"},
	{"clang no-pie", "paths.c", "clang -O2 -no-pie"},
	{"clang static", "paths.c", "clang -O2 -static"},
	{"clang lld", "paths.c", "clang -O2 -fuse-ld=lld"},
	{"clang lto", "paths.c", "clang -O3 -flto -fuse-ld=lld"},
	{"clang++", "paths.c", "clang++ -O2 -x c++"},
	{"clang++ static", "paths.c", "clang++ -O2 -static -x c++"},
	{"clang++ lto", "paths.c", "clang++ -O3 -flto -fuse-ld=lld -x c++"},
	{"rustc", "paths.rs", "rustc -C opt-level=2"},
	{"rustc static", "paths.rs", "rustc -C opt-level=2 -C target-feature=+crt-static"},
	{"rustc lto", "paths.rs", "rustc -C opt-level=3 -C lto=fat -C codegen-units=1"},
}

// TestLiveCallPaths compares, of programs without frame pointers, the stack of each sample with
// the path that the program itself knew at that moment, by way of perf.data and live; and says
// of how many samples perf's walk is that.
func TestLiveCallPaths(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.PerfOrHost)
	if livetest.InGuest() {
		guestPaths(t)
		return
	}
	builds, err := selectedPaths(pathBuilds)
	if err != nil {
		t.Fatal(err)
	}
	millis := "3000"
	if len(builds) == 1 {
		millis = "600"
	}
	for _, b := range builds {
		t.Run(b.name, func(t *testing.T) {
			cc := strings.Fields(b.command)
			livetest.RequirePrograms(t, cc[0])
			if cc[0] != "rustc" {
				cc = append(cc, "-fomit-frame-pointer")
			}
			prog := filepath.Join(t.TempDir(), "paths")
			command(t, nil, cc[0], append(cc[1:], "-o", prog, "testdata/callpaths/"+b.source)...)
			checkPaths(t, b.name+": "+b.command, prog, "1999", millis, 99)
		})
	}
}

// checkPaths records a program that knows its paths, at a frequency, for so many milliseconds. At
// least so many of 100 stacks must be its path.
func checkPaths(t *testing.T, what, prog, frequency, millis string, least float64) {
	t.Helper()
	data, live := filepath.Join(t.TempDir(), "perf.data"), filepath.Join(t.TempDir(), "live.folded")
	record := []string{"record", "-q", "--max-lost", "0", "-F", frequency, "--call-graph", "dwarf", "-e"}
	command(t, nil, kprof(t).Path, append(record, "cpu-clock", "-o", data, "--", prog, millis)...)
	calls := command(t, nil, kprof(t).Path, append(record, "cpu-clock:u", "-o", live, "--", prog, millis)...)

	x := paths{names: pathNames(t, prog)}
	x.read(t, data)
	fields := []string{"--ns", "-F", "tid,time,ip,sym,dso"}
	converted := x.judge(userStacks(t, command(t, nil, kprof(t).Path, append(append([]string{"script", "--stacks"}, fields...), data)...)))
	lives := x.judgeFolded(t, live, calls)
	beside := ""
	if !livetest.InGuest() {
		perfs := x.judge(userStacks(t, command(t, nil, "perf", append(append([]string{"script", "--no-inline"}, fields...), "-i", data)...)))
		beside = fmt.Sprintf(", perf %.2f%%", perfs.percent())
	}
	t.Logf("%-70s %6d samples, %d without a copy: kprof %.2f%% (%.2f%% at a call or return), live %.2f%%%s", what, converted.all, x.bare,
		converted.percent(), 100*float64(converted.between)/float64(max(converted.all, 1)), lives.percent(), beside)
	if converted.between > converted.all/4 {
		t.Errorf("%d of %d stacks are at a call or return: they lack a function", converted.between, converted.all)
	}
	for how, j := range map[string]*judgment{"in perf.data": converted, "live": lives} {
		if len(j.wrong) > 0 && (j.percent() < least || testing.Verbose()) {
			t.Logf("%s not the program's path:\n%s", how, j)
		}
		if j.percent() < least || j.all < 100 {
			t.Errorf("%s: %.2f%% of %d stacks are the program's path", how, j.percent(), j.all)
		}
	}
}

// pathNames asks a program what the numbers in its paths are.
func pathNames(t *testing.T, prog string) map[string]byte {
	t.Helper()
	names := map[string]byte{}
	for line := range strings.Lines(string(command(t, nil, prog))) {
		number, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseUint(number, 10, 8)
		if err != nil {
			t.Fatal(err)
		}
		names[name] = byte(n)
	}
	return names
}

// userStacks reads the user part of each sample's stack, the outermost function first, from what
// perf script prints, or kprof.
func userStacks(t *testing.T, text []byte) map[sampleKey][]string {
	t.Helper()
	all := map[sampleKey][]string{}
	samples := keys{}
	var key sampleKey
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if tid, time, ok := sampleLine(line); ok {
			key = samples.of(tid, time)
			continue
		}
		word, name, _ := strings.Cut(line, " ")
		addr, err := strconv.ParseUint(word, 16, 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if addr>>63 == 0 {
			name, _, _ = strings.Cut(name, " (/")
			all[key] = append(all[key], name)
		}
	}
	for _, stack := range all {
		slices.Reverse(stack)
	}
	return all
}

// paths is what a program knew of its paths.
type paths struct {
	names map[string]byte
	known map[sampleKey][]byte
	bare  int // samples between the first and the last of which the copy does not have it
}

// read reads the path that the program knew at each sample, as the copy of its stack has it:
// struct known of testdata/callpaths/paths.c.
func (x *paths) read(t *testing.T, data string) {
	t.Helper()
	le := binary.LittleEndian
	magic := le.AppendUint64(le.AppendUint64(nil, 0x617020796d206e49), 0x6d61206920736874)
	r := perftext.Open(t, data)
	f, err := recorded.Scan(t.Context(), r, recorded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x.known = map[sampleKey][]byte{}
	bare, samples := 0, keys{}
	if err := f.Each(t.Context(), func(s *recorded.Sample) {
		key := samples.of(s.TID, s.Time)
		_, here, found := bytes.Cut(s.UserStack, magic)
		if !found || len(here) < 4 || uint64(le.Uint32(here)) > uint64(len(here)-4) {
			bare++
			return
		}
		if len(x.known) > 0 {
			x.bare += bare
		}
		bare = 0
		x.known[key] = bytes.Clone(here[4:][:le.Uint32(here)])
	}); err != nil {
		t.Fatal(err)
	}
}

// Numbers in paths that are no functions: see testdata/callpaths/paths.c. In stacks, library
// stands for what is not of the program's functions.
const (
	pathSorting = 253
	pathLibrary = 254
	pathThrown  = 255
)

// judgment is how many stacks are the paths that the program knew.
type judgment struct {
	all, equal uint64
	between    uint64            // of those that are equal, at the call or the return of the last function
	wrong      map[string]uint64 // path and stack
}

func (j *judgment) percent() float64 { return 100 * float64(j.equal) / float64(max(j.all, 1)) }

func (j *judgment) String() string {
	var lines []string
	for line, n := range j.wrong {
		lines = append(lines, fmt.Sprintf("%6d %s", n, line))
	}
	slices.Sort(lines)
	slices.Reverse(lines)
	return strings.Join(lines[:min(len(lines), 20)], "\n")
}

func (j *judgment) add(n uint64, right bool, path, stack string) {
	j.all += n
	if right {
		j.equal += n
		return
	}
	if j.wrong == nil {
		j.wrong = map[string]uint64{}
	}
	j.wrong[path+" is "+stack] += n
}

// judge compares the stack of each sample with the path of that moment.
func (x *paths) judge(stacks map[sampleKey][]string) *judgment {
	j := &judgment{}
	for key, path := range x.known {
		stack := x.numbers(stacks[key])
		right := x.accepts(path, stack)
		if right && !x.exactly(path, stack) {
			j.between++
		}
		j.add(1, right, x.text(path), strings.Join(stacks[key], ";"))
	}
	return j
}

// judgeFolded says of how many folded stacks each function is called by one that has called it,
// as the program says.
func (x *paths) judgeFolded(t *testing.T, folded string, said []byte) *judgment {
	t.Helper()
	f := livetest.Open(t, os.Open, folded)
	lines := foldedLines(t, f)
	type call struct{ from, to byte }
	calls := map[call]bool{}
	for line := range strings.Lines(string(said)) {
		var c call
		if _, err := fmt.Sscan(line, &c.from, &c.to); err != nil {
			t.Fatal(err)
		}
		calls[c] = true
		calls[call{pathLibrary, c.to}] = calls[call{pathLibrary, c.to}] || x.callback(c.to) || c.from >= pathSorting
	}
	j := &judgment{}
	for line, n := range lines {
		_, line, _ = strings.Cut(line, ";")
		frames := strings.Split(line, ";")
		if !x.inside(frames) {
			continue
		}
		stack := x.numbers(frames)
		right := len(stack) > 0 && stack[0] == 0
		for i := range max(len(stack)-1, 0) {
			from, to := stack[i], stack[i+1]
			inlined := calls[call{from, pathLibrary}] && calls[call{pathLibrary, to}] // of a library that is in a header
			right = right && (to == pathLibrary || calls[call{from, to}] || inlined)
		}
		j.add(n, right, "no path", line)
	}
	return j
}

// inside reports whether a stack is of the time in which the program knows its path: neither the
// loader, before it, nor what happens before and behind its first function.
func (x *paths) inside(stack []string) bool {
	if stack[0] != "_start" && !strings.HasPrefix(stack[0], "[ld-") {
		return true
	}
	for _, frame := range stack {
		name, _, _ := strings.Cut(frame, ".")
		if _, ok := x.names[strings.TrimPrefix(name, "paths::")]; ok {
			return true
		}
	}
	return false
}

// numbers returns the functions of a stack by their numbers from the program's first one on, nil
// if the stack does not begin where programs do.
func (x *paths) numbers(stack []string) []byte {
	if len(stack) == 0 || stack[0] != "_start" {
		return nil
	}
	// What only returns from a signal handler, and a function of the compiler's, may be at the end
	// of any path.
	if last := strings.TrimSuffix(stack[len(stack)-1], " ([vdso])"); last == "__restore_rt" || last == "__kernel_rt_sigreturn" || strings.HasPrefix(last, "__x86.") {
		stack = stack[:len(stack)-1]
	}
	var numbers []byte
	for _, frame := range stack {
		frame = strings.TrimPrefix(frame, "paths::")
		name, part, _ := strings.Cut(frame, ".") // such as .constprop.0
		name, _, _ = strings.Cut(name, "(")      // its arguments
		name, closure, _ := strings.Cut(name, "::{")
		n, ok := x.names[name]
		same := ok && len(numbers) > 0 && numbers[len(numbers)-1] == n
		switch {
		case same && (closure != "" || strings.HasPrefix(part, "part")): // of the function before
		case ok && closure == "":
			numbers = append(numbers, n)
		case len(numbers) > 0:
			numbers = append(numbers, pathLibrary)
		}
	}
	return numbers
}

// text is a path as names.
func (x *paths) text(path []byte) string {
	var words []string
	for _, n := range path {
		word := map[byte]string{pathSorting: "SORTING", pathLibrary: "LIBRARY", pathThrown: "THROWN"}[n]
		for name, number := range x.names {
			if number == n {
				word = name
			}
		}
		words = append(words, word)
	}
	return strings.Join(words, ";")
}

// callback reports whether a function puts itself on the path, since a library calls it.
func (x *paths) callback(n byte) bool {
	for _, name := range []string{"compare", "search", "handler", "less", "cleanup", "called"} {
		if number, ok := x.names[name]; ok && number == n {
			return true
		}
	}
	return false
}

// cutHandler cuts a stack at a signal handler: what it interrupted, without the frame that the
// kernel makes, and the handler with what it calls.
func (x *paths) cutHandler(stack []byte) (before, in []byte, ok bool) {
	handler, has := x.names["handler"]
	i := bytes.LastIndexByte(stack, handler)
	if !has || i < 1 || stack[i-1] != pathLibrary {
		return nil, nil, false
	}
	return stack[:i-1], stack[i:], true
}

// accepts reports whether a stack is what a program's path makes it. A function is put on the
// path right before it is called, and taken off right after it has returned; callbacks do that
// themselves.
func (x *paths) accepts(path, stack []byte) bool {
	if len(path) == 0 || len(stack) == 0 {
		return false
	}
	if before, in, ok := x.cutHandler(stack); ok {
		i := bytes.IndexByte(path, in[0])
		switch {
		case i > 0:
			return x.accepts(path[:i], before) && (matches(path[i:], in) || len(path[i:]) == 2 && len(in) == 1)
		case len(in) == 1: // it has not put itself on the path yet
			return x.accepts(path, before)
		}
		return false
	}
	if matches(path, stack) {
		return true
	}
	last, leaf := path[len(path)-1], stack[len(stack)-1]
	switch {
	case last < pathSorting && !x.callback(last) && matches(path[:len(path)-1], stack):
		return true
	case last >= pathSorting && x.callback(leaf):
		return matches(append(path[:len(path):len(path)], leaf), stack)
	}
	return false
}

// exactly reports whether a stack is a path, also in what a signal interrupted.
func (x *paths) exactly(path, stack []byte) bool {
	if before, in, ok := x.cutHandler(stack); ok {
		i := max(bytes.IndexByte(path, in[0]), 0)
		return matches(path[:i], before) && matches(path[i:], in)
	}
	return matches(path, stack)
}

// matches reports whether a stack is exactly a path.
func matches(path, stack []byte) bool {
	if i := bytes.IndexByte(path, pathThrown); i >= 0 {
		// Functions before it may have ended, but for the first.
		for k := 1; k <= i; k++ {
			if matches(slices.Concat(path[:k], []byte{pathLibrary}, path[i+1:]), stack) {
				return true
			}
		}
		return false
	}
	switch {
	case len(path) == 0:
		return len(stack) == 0
	case path[0] < pathSorting:
		return len(stack) > 0 && stack[0] == path[0] && matches(path[1:], stack[1:])
	case path[0] == pathSorting && len(path) > 1: // it calls back from frames of its own
		if len(stack) == 0 || stack[0] != pathLibrary {
			return false
		}
		stack = stack[1:]
	}
	for {
		if matches(path[1:], stack) {
			return true
		}
		if len(stack) == 0 || stack[0] != pathLibrary {
			return false
		}
		stack = stack[1:]
	}
}
