//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kprof/convert/browsertest"
)

// shellOutput runs a command line as a shell reads it, and returns what it prints.
func shellOutput(t *testing.T, line string) (code int, out []byte) {
	t.Helper()
	words, err := exec.Command("sh", "-c", `printf '%s\0' `+line).Output()
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	args := strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00")
	if args[0] != "kprof" {
		t.Fatalf("it is no command of kprof: %s", line)
	}
	return runKeeping(t, &os.Stdout, append(args[1:], "--json", "-n", "0")...)
}

// TestViewCommands: the command that a page offers for what is selected on it, by steps,
// filters, spans of time and searches in any order, has the same total; and so have the
// functions, where nothing is searched for.
func TestViewCommands(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 22))
	data := filepath.Join(root, "testdata")
	for _, input := range [][]string{
		{filepath.Join(data, "demo.data"), "--kallsyms", filepath.Join(data, "demo.kallsyms"), "--symfs", filepath.Join(data, "symfs"), "--label", "cpu"},
		{filepath.Join(data, "recordings", "deferred-7.3.script"), "--ignore", "^no such function$"},
	} {
		page := filepath.Join(t.TempDir(), "it's a page.html")
		if code, said := runInside(t, append([]string{"convert", "-o", page}, input...)...); code != 0 {
			t.Fatal(said)
		}
		p := browsertest.OpenFile(t, page, browsertest.View{})
		p.Wait("window.kprof")
		names := browsertest.Eval[[]string](p, "kprof.p.names")
		quoted := func(v any) string {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		last := browsertest.Eval[int64](p, "Math.floor(kprof.p.moments?.time.at(-1) ?? 0)")
		mappings := append(browsertest.Eval[[]string](p, "kprof.p.head.mappings"), "[kernel]")
		stepsOf := func() string {
			var steps []string
			for range r.IntN(4) {
				name := names[r.IntN(len(names))]
				switch op := []string{"focus", "ignore", "show-from", "show-to", "hide", "show", "collapse-recursion", "collapse"}[r.IntN(8)]; op {
				case "collapse":
					steps = append(steps, fmt.Sprintf("{op: 'collapse', text: %s}", quoted(mappings[r.IntN(len(mappings))])))
				case "show":
					steps = append(steps, fmt.Sprintf("{op: 'show', text: %s}", quoted("["+name[:1]+"s_]")))
				default:
					// What many stacks have, so that something is left.
					steps = append(steps, fmt.Sprintf("{op: %q, text: kprof.exactly(%s)}", op, quoted(name)))
				}
			}
			return "[" + strings.Join(steps, ", ") + "]"
		}
		empty, full := 0, 0
		for i := range 60 {
			state := []string{"steps: " + stepsOf(), "group: -1", "query: ''", "filter: new Map()", "span: null"}
			if i%3 == 1 && last > 0 {
				from, to := r.Int64N(last), r.Int64N(last)
				state[4] = fmt.Sprintf("span: [%d, %d]", min(from, to), max(from, to))
			}
			if i%4 == 1 {
				state[3] = "filter: new Map(kprof.p.head.keys.length ? [[0, new Set([0])]] : [])"
			}
			search := i%2 == 0
			if search {
				state[2] = "query: " + quoted([]string{"sys", "^[a-m]", "SYSCALL", "load|read$", "_"}[r.IntN(5)])
				state[1] = fmt.Sprintf("group: %d", r.IntN(2)-1)
			}
			p.Do("kprof.set({" + strings.Join(state, ", ") + ", zoom: 0, range: null})")
			type answer struct {
				Command   string
				Total     int64
				Functions map[string][2]int64
			}
			got := browsertest.Eval[answer](p, `(() => {
				const f = kprof.functions(), sums = kprof.sums(), functions = {};
				f.some.forEach((some, i) => { if (some && f.total[i]) functions[kprof.p.names[i]] = [f.self[i], f.total[i]].map(Math.round) });
				return {Command: kprof.command(), Functions: functions,
					Total: Math.round(kprof.state.query ? kprof.matchedSoon() : sums.total[0])};
			})()`)
			what := fmt.Sprintf("%s: %s", filepath.Base(input[0]), got.Command)
			if got.Command == "" {
				t.Errorf("%v: no command", state)
				continue
			}
			code, out := shellOutput(t, got.Command)
			if got.Total == 0 {
				if empty++; code != 1 {
					t.Errorf("%s: exit code %d of nothing", what, code)
				}
				continue
			}
			full++
			var report struct {
				Total int64 `json:"total"`
				Rows  []struct {
					Name      string
					Self, Cum int64
				} `json:"rows"`
			}
			if err := json.Unmarshal(out, &report); err != nil || code != 0 {
				t.Errorf("%s: exit code %d, %v", what, code, err)
				continue
			}
			if report.Total != got.Total {
				t.Errorf("%s: total %d, the page has %d", what, report.Total, got.Total)
			}
			if search {
				continue
			}
			if len(report.Rows) != len(got.Functions) {
				t.Errorf("%s: %d functions, the page has %d", what, len(report.Rows), len(got.Functions))
			}
			for _, f := range report.Rows {
				if want := got.Functions[f.Name]; want != [2]int64{f.Self, f.Cum} {
					t.Errorf("%s: %s has self and cum %d %d, on the page %d", what, f.Name, f.Self, f.Cum, want)
				}
			}
		}
		if full < 20 || empty < 1 {
			t.Errorf("%s: %d selections have something, %d nothing", input[0], full, empty)
		}
	}
}
