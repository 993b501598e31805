//go:build linux

package event

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/livetest"
)

// globbed is a program whose functions some globs select: two that are called the same, one under
// two names, and one with a part that is jumped to.
const globbed = `
asm(".section .text.unlikely; .type alpha_one.cold, @function; alpha_one.cold: nop; ret; .size alpha_one.cold, . - alpha_one.cold; .text");
int alpha_one(int x) { return x + 1; }
int alpha_two(int x) { return 2 * x; }
int __attribute__((alias("alpha_two"))) __alpha_alias(int x);
int beta(int x) { return x - 1; }
void _start(void) {}
`

// names are those of probes without what they begin with.
func namesBehind(prefix string, all []string) (names []string) {
	for _, name := range all {
		names = append(names, strings.TrimPrefix(name, prefix))
	}
	return names
}

// TestUserGlob: one probe of each function that matches, not of what is jumped
// to, and of one with two names by the one that others know.
func TestUserGlob(t *testing.T) {
	program := link(t, globbed, "-static")
	prefix := "uprobe:" + program + ":"
	for glob, want := range map[string][]string{
		"alpha*":         {"alpha_one", "alpha_two"},
		"*alpha_[!o]*":   {"alpha_two"},
		"*a":             {"beta"},
		"?eta":           {"beta"},
		"__alpha*":       {"__alpha_alias"},
		"b* %di x=%si":   {"beta %di x=%si"},
		"alpha_one.col*": nil,
		"alpha*+1":       nil,
		"[a":             nil,
	} {
		specs, err := new(Resolver).expand(mustSpec(t, prefix+glob))
		var got []string
		for _, s := range specs {
			got = append(got, s.Text)
			if name, _, _ := strings.Cut(strings.TrimPrefix(s.Text, prefix), " "); name != s.Probe.Symbol {
				t.Errorf("%s: %q is of %q", glob, s.Text, s.Probe.Symbol)
			}
		}
		if d := cmp.Diff(want, namesBehind(prefix, got)); d != "" || (err == nil) != (want != nil) {
			t.Errorf("%s: %v: -want +got\n%s", glob, err, d)
		}
	}
	for most, ok := range map[int]bool{1: false, 2: true} {
		if _, err := (&Resolver{MaxProbes: most}).expand(mustSpec(t, prefix+"alpha*")); (err == nil) != ok {
			t.Errorf("at most %d probes: %v", most, err)
		}
	}
}

// TestReadableNames: functions are found by their names as they are shown, too, by each that has one.
func TestReadableNames(t *testing.T) {
	program := link(t, globbed, "-static")
	prefix := "uprobe:" + program + ":"
	r := &Resolver{Readable: func(name string) string {
		switch {
		case strings.HasPrefix(name, "alpha_"):
			return "ns::alpha"
		case name == "beta":
			return "ns::beta"
		}
		return name
	}}
	for asked, want := range map[string][]string{
		"ns::beta":      {"ns::beta beta"}, // as it is called and where it is
		"ns::beta %di":  {"ns::beta %di beta"},
		"ns::b*":        {"beta beta"},
		"ns::alpha":     {"alpha_one alpha_one", "alpha_two alpha_two"},
		"beta":          {"beta beta"},
		"ns::gamma":     {"ns::gamma ns::gamma"}, // which is told later
		"ns::alpha+0x1": nil,
		"ns::gamma*":    nil,
	} {
		specs, err := r.expand(mustSpec(t, prefix+asked))
		var got []string
		for _, s := range specs {
			got = append(got, strings.TrimPrefix(s.Text, prefix)+" "+s.Probe.Symbol)
		}
		if d := cmp.Diff(want, got); d != "" || (err == nil) != (want != nil) {
			t.Errorf("%s: %v: -want +got\n%s", asked, err, d)
		}
	}
	if _, err := r.Definition(mustSpec(t, prefix+"ns::alpha")); err == nil || !strings.Contains(err.Error(), "2 functions match") {
		t.Error(err)
	}
	if def, err := r.Definition(mustSpec(t, prefix+"ns::beta")); err != nil || def.Name != "beta" {
		t.Errorf("%+v, %v", def, err)
	}
	all, _, err := r.Probeable(prefix + "ns::alph")
	want := []Probeable{{Name: prefix + "alpha_one", Kind: "function", Readable: "ns::alpha"}, {Name: prefix + "alpha_two", Kind: "function", Readable: "ns::alpha"}}
	if d := cmp.Diff(want, all); d != "" || err != nil {
		t.Errorf("%v: -want +got\n%s", err, d)
	}
}

// TestUserGlobSameName: functions that are called the same are probed by their places.
func TestUserGlobSameName(t *testing.T) {
	const one = "static int __attribute__((noinline, used)) twin(int x) { return x + 1; }"
	other := filepath.Join(t.TempDir(), "other.c")
	livetest.WriteFile(t, other, one)
	program := link(t, one+"void _start(void) {}", "-static", other)
	specs, err := new(Resolver).expand(mustSpec(t, "uprobe:"+program+":t*"))
	if err != nil || len(specs) != 2 {
		t.Fatalf("%v, %v", specs, err)
	}
	for _, s := range specs {
		if want := fmt.Sprintf("uprobe:%s:%#x", program, s.Probe.Addr); s.Text != want || s.Probe.Symbol != "" || s.Probe.Addr == 0 {
			t.Errorf("%+v, want %s", s, want)
		}
	}
}

// goProgram builds a program of Go, with its symbols.
func goProgram(t *testing.T) string {
	t.Helper()
	livetest.RequirePrograms(t, "go")
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	livetest.WriteFile(t, source, `package main

type thing int

//go:noinline
func (t *thing) next(n int) int {
	if n == 0 {
		return int(*t)
	}
	return t.next(n-1) + n
}

func main() { println(new(thing).next(3)) }
`)
	livetest.Run(t, "go", "build", "-o", program, source)
	return program
}

const goMethod = "main.(*thing).next"

// TestGoGlob: a function of Go may be called like a glob, and have slashes in its name.
func TestGoGlob(t *testing.T) {
	livetest.RequirePrograms(t, "readelf")
	program := goProgram(t)
	slashed := regexp.MustCompile(`FUNC .* (internal/[a-zA-Z/.]+)\n`).FindStringSubmatch(livetest.Run(t, "readelf", "-sW", program))
	if slashed == nil {
		t.Fatal("no function of a package with a slash")
	}
	for glob, want := range map[string]string{
		goMethod:              goMethod,
		"main.?[*]thing).n*":  goMethod,
		"i*" + slashed[1][8:]: slashed[1],
		"i*" + slashed[1][9:]: slashed[1],
	} {
		specs, err := new(Resolver).expand(mustSpec(t, "uprobe:"+program+":"+glob))
		if err != nil || !slices.ContainsFunc(specs, func(s Spec) bool { return s.Probe.Symbol == want }) || want == goMethod && len(specs) != 1 {
			t.Errorf("%s: %v, %v", glob, specs, err)
		}
	}
}

// TestGoReturn: a return probe would be the end of a program of Go. What is offered instead are the
// instructions that objdump calls ret.
func TestGoReturn(t *testing.T) {
	livetest.RequirePrograms(t, "objdump")
	program := goProgram(t)
	_, err := new(Resolver).Resolve(mustSpec(t, "uretprobe:"+program+":"+goMethod))
	if err == nil {
		t.Fatal("taken")
	}
	var got []string
	for _, m := range regexp.MustCompile(`uprobe:[^:]*:(0x[0-9a-f]+)`).FindAllStringSubmatch(err.Error(), -1) {
		got = append(got, m[1])
	}
	text := livetest.Run(t, "objdump", "-d", "--no-show-raw-insn", "--disassemble="+goMethod, program)
	entry, start := entryOffset(t, program, goMethod), uint64(0)
	var want []string
	for line := range strings.Lines(text) {
		var addr uint64
		var op string
		if n, _ := fmt.Sscanf(strings.TrimSpace(line), "%x: %s", &addr, &op); n < 2 {
			continue
		}
		if start == 0 {
			start = addr
		}
		if op == "ret" || op == "retq" {
			want = append(want, fmt.Sprintf("%#x", entry+addr-start))
		}
	}
	if d := cmp.Diff(want, got); d != "" || len(want) < 2 {
		t.Errorf("%v: -objdump +got\n%s", err, d)
	}
	place := fmt.Sprintf("uretprobe:%s:%#x", program, entry)
	if _, err := new(Resolver).Resolve(mustSpec(t, place)); err == nil {
		t.Errorf("%s is taken", place)
	}
}

// entryOffset is where in the file a function begins.
func entryOffset(t *testing.T, path, name string) uint64 {
	t.Helper()
	off, err := probeOffset(path, Probe{User: true, Symbol: name})
	if err != nil {
		t.Fatal(err)
	}
	return off
}

// TestColdReturn: what is jumped to has no return of its own.
func TestColdReturn(t *testing.T) {
	program := link(t, globbed, "-static")
	for kind, ok := range map[string]bool{"uprobe:": true, "uretprobe:": false} {
		if _, err := new(Resolver).Resolve(mustSpec(t, kind+program+":alpha_one.cold")); (err == nil) != ok {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestUserProbeable lists the functions of a program and its statically defined probes, as readelf does.
func TestUserProbeable(t *testing.T) {
	livetest.RequirePrograms(t, "gcc", "readelf")
	dir := t.TempDir()
	program := filepath.Join(dir, "a:b") // a colon in a name
	livetest.Run(t, "gcc", "-O2", "-o", program, "testdata/usdt.c")
	list := func(word string) (all []Probeable) {
		t.Helper()
		all, ok, err := new(Resolver).Probeable(word)
		if err != nil || !ok {
			t.Fatalf("%s: %v, %v", word, ok, err)
		}
		return all
	}
	var want []string
	for line := range strings.Lines(livetest.Run(t, "readelf", "-sW", program)) {
		// Num: Value Size Type Bind Vis Ndx Name
		if f := strings.Fields(line); len(f) >= 8 && f[3] == "FUNC" && f[6] != "UND" {
			name, _, _ := strings.Cut(f[7], "@")
			want = append(want, "uprobe:"+program+":"+name)
		}
	}
	slices.Sort(want)
	want = slices.Compact(want)
	var got []string
	for _, p := range list("uprobe:" + program) {
		got = append(got, p.Name)
	}
	if d := cmp.Diff(want, got); d != "" || len(want) < 3 {
		t.Errorf("-readelf +got\n%s", d)
	}
	if all := list("uretprobe:" + program + ":round"); len(all) != 1 || all[0].Name != "uretprobe:"+program+":round_of" || all[0].Kind != "function" {
		t.Errorf("%v", all)
	}

	static := map[string]Probeable{}
	notes := livetest.Run(t, "readelf", "-n", program)
	for _, m := range regexp.MustCompile(`Provider: (\S+)\s+Name: (\S+)\s[^A]*[^\n]*\s+Arguments: ?(.*)`).FindAllStringSubmatch(notes, -1) {
		name := "usdt:" + program + ":" + m[1] + ":" + m[2]
		one := static[name]
		static[name] = Probeable{Name: name, Kind: "USDT", Places: one.Places + 1, Arguments: len(strings.Fields(m[3]))}
	}
	all := list("usdt:" + program)
	for _, p := range all {
		if static[p.Name] != p {
			t.Errorf("%+v, readelf has %+v", p, static[p.Name])
		}
	}
	if len(all) != len(static) || len(all) < 3 {
		t.Errorf("%d of %d probes", len(all), len(static))
	}
	for _, glob := range []string{"kprof:tw*", "twi", "tw*"} {
		if all := list("usdt:" + program + ":" + glob); len(all) != 1 || all[0].Name != "usdt:"+program+":kprof:twice" || all[0].Places != 2 {
			t.Errorf("%s: %v", glob, all)
		}
	}
	livetest.Errors(t, func(word string) ([]Probeable, error) {
		all, _, err := new(Resolver).Probeable(word)
		return all, err
	}, map[string]string{
		"usdt:" + program + ":kprof:twize":    "did you mean kprof:twice",
		"uprobe:" + program + ":no_such":      `matches "no_such"`,
		"uprobe:" + dir + "/none:main":        "no such file",
		"uprobe:" + program + ":[":            "not a pattern",
		"usdt:" + link(t, globbed, "-static"): "has no statically defined probes",
	})
	for word, ok := range map[string]bool{"sched:*": false, "uprobe": false, "cycles": false, "kprobe:": true} {
		if _, is, _ := new(Resolver).Probeable(word); is != ok {
			t.Errorf("%s: %v", word, is)
		}
	}
}

// TestProbeableKernel lists what may be probed of a kernel and of its modules.
func TestProbeableKernel(t *testing.T) {
	sys := fakeSysfs(t)
	list := func(word string) ([]string, error) {
		r := &Resolver{Sysfs: sys, funcs: parseFuncs(kallsyms), traced: map[string]bool{"vfs_read": true, "vfs_readv": true}}
		all, _, err := r.Probeable(word)
		var names []string
		for _, p := range all {
			names = append(names, p.Name)
		}
		return names, err
	}
	if names, err := list("kprobe:vfs_*"); err == nil || !strings.Contains(err.Error(), "no kprobe PMU") {
		t.Errorf("without kprobes: %q, %v", names, err)
	}
	pmu := filepath.Join(sys, "bus/event_source/devices/kprobe")
	if err := os.Mkdir(pmu, 0o755); err != nil {
		t.Fatal(err)
	}
	livetest.WriteFile(t, filepath.Join(pmu, "type"), "6\n")
	for word, want := range map[string][]string{
		"kprobe:vfs_*":     {"kprobe:vfs_read", "kprobe:vfs_readv"},
		"kretprobe:readv":  {"kretprobe:vfs_readv"},
		"kprobe:nosuch:*":  nil,
		"kprobe:no_such_f": nil,
	} {
		got, err := list(word)
		if d := cmp.Diff(want, got); d != "" || (err == nil) != (want != nil) {
			t.Errorf("%s: %v: -want +got\n%s", word, err, d)
		}
	}
	// What is jumped to is no function, whatever the kernel lets be traced.
	r := &Resolver{Sysfs: sys, funcs: parseFuncs(kallsyms), traced: map[string]bool{"do_it.isra.0": true, "do_it.part.0": true, "do_it.cold": true}}
	names, all, err := r.probeable("", "do_it*")
	if d := cmp.Diff([]string{"do_it.isra.0", "do_it.part.0"}, names); d != "" || all != 3 || err != nil {
		t.Errorf("%d match, %v: -want +got\n%s", all, err, d)
	}
}
