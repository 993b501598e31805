package render

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kprof/convert/render/browsertest"
	"kprof/perfevent/livetest"
)

// viewers is where the viewers are that testdata/test.sh installs with npm.
const viewers = "../../.build/viewers/node_modules/"

// Their own code reads what is written for them.
const (
	speedscopePage = viewers + "speedscope/dist/release/index.html"
	profilerCLI    = viewers + "@firefox-devtools/profiler-cli/dist/profiler-cli.js"
)

// needViewer skips a test without the viewer: not every machine reaches npm's
// registry.
func needViewer(t *testing.T, name, file string) {
	t.Helper()
	if _, err := os.Stat(file); err != nil {
		t.Skipf("needs %s (%v)", name, err)
	}
}

// needNode skips a test without a node that runs the viewers.
func needNode(t *testing.T) {
	t.Helper()
	out, err := exec.Command("node", "--version").Output()
	version, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
	if n, _ := strconv.Atoi(version); err != nil || n < 20 {
		t.Skip("needs node 20")
	}
}

// TestSpeedscopeOpens: speedscope itself opens what is written for it, and traces,
// and says of each function what is so.
func TestSpeedscopeOpens(t *testing.T) {
	livetest.Require(t, browsertest.Need)
	needViewer(t, "speedscope", speedscopePage)
	for _, c := range []struct {
		name, title string
		f           exporter
		want        []string // profiles, and functions of the first with total and self
	}{
		{"perf.speedscope.json", "perf.data - speedscope", Speedscope, []string{
			"1 cpu-clock 8.00ms", "2 app 7/7 5.00ms", "3 worker 7/8 2.00ms", "4 idle 9/9 1.00ms",
			"5.00ms (63%) 1.00ms (13%) main", "3.00ms (38%) 3.00ms (38%) work", "1.00ms (13%) 1.00ms (13%) sys_read",
			"2.00ms (25%) 2.00ms (25%) ODD", "6.00ms (75%) 0.00ns (<0.01%) app", "1.00ms (13%) 0.00ns (<0.01%) worker",
			"1.00ms (13%) 1.00ms (13%) [unknown]", "1.00ms (13%) 0.00ns (<0.01%) idle",
		}},
		{"perf.trace.json", "perf.trace.json - speedscope", Chrome, []string{
			"1 app (pid 7), app (tid 7) 5.00ms", "2 app (pid 7), worker (tid 8) 2.00ms", "3 idle (pid 9), idle (tid 9) 1.00ms",
			"5.00ms (100%) 1.00ms (20%) main", "3.00ms (60%) 3.00ms (60%) work", "1.00ms (20%) 1.00ms (20%) sys_read",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := export(t, c.f, exportSet(true), exportOptions)
			load := filepath.Join(t.TempDir(), "load.js")
			js := fmt.Sprintf("speedscope.loadFileFromBase64(%q, %q)", c.name, base64.StdEncoding.EncodeToString(b))
			if err := os.WriteFile(load, []byte(js), 0o666); err != nil {
				t.Fatal(err)
			}
			p := browsertest.Open(t, browsertest.FileURL(t, speedscopePage)+"#localProfilePath="+load, browsertest.View{})
			p.Wait("document.title != 'speedscope'")
			if got := browsertest.Eval[string](p, "document.title"); got != c.title {
				t.Errorf("the title is %q, not %q", got, c.title)
			}
			p.Keys("3") // the table
			p.Wait("document.querySelectorAll('table tr').length > 1")
			p.Screenshot("speedscope-" + c.name)
			rows := browsertest.Eval[[]string](p, "[...document.querySelectorAll('table tr:not(:has(th))')].map(r => [...r.cells].map(c => c.textContent).join(' '))")
			var got []string
			for _, r := range rows {
				got = append(got, strings.ReplaceAll(r, oddShown, "ODD"))
			}
			less := func(a, b string) bool { return a < b }
			if diff := cmp.Diff(c.want, got, cmpopts.SortSlices(less)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestFirefoxOpens: the code of the Firefox Profiler upgrades what is written to
// its own format, and says of each thread and function what is so.
func TestFirefoxOpens(t *testing.T) {
	needNode(t)
	needViewer(t, "profiler-cli", profilerCLI)
	const want = `
7 app
  app 7: work 3/3 main 5/1 sys_read 1/1
  worker 8: ODD 2/2
9 idle
  idle 9: [unknown] 1/1
`
	for _, timed := range []bool{true, false} {
		dir := t.TempDir()
		file := filepath.Join(dir, "perf.firefox.json")
		if err := os.WriteFile(file, export(t, Firefox, exportSet(timed), exportOptions), 0o666); err != nil {
			t.Fatal(err)
		}
		run := func(v any, args ...string) {
			t.Helper()
			cmd := exec.Command("node", append(append([]string{profilerCLI}, args...), "--json")...)
			cmd.Env = append(os.Environ(), "PROFILER_CLI_SESSION_DIR="+dir)
			var errors strings.Builder
			cmd.Stderr = &errors
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("profiler-cli %v: %v\n%s", args, err, &errors)
			}
			if v == nil {
				return
			}
			if err := json.Unmarshal(out, v); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		run(nil, "load", file)
		t.Cleanup(func() { run(nil, "stop") })
		var info struct {
			Processes []struct {
				PID, Name string
				Threads   []struct {
					ThreadHandle, Name string
					TID                int
				}
			}
		}
		run(&info, "profile", "info", "--all")
		var w strings.Builder
		w.WriteString("\n")
		for _, p := range info.Processes {
			fmt.Fprintln(&w, p.PID, p.Name)
			for _, k := range p.Threads {
				fmt.Fprintf(&w, "  %s %d:", k.Name, k.TID)
				var list struct {
					Functions []struct {
						Name                      string
						TotalSamples, SelfSamples float64
					}
				}
				run(&list, "thread", "functions", "--include-idle", "--thread", k.ThreadHandle)
				for _, f := range list.Functions {
					fmt.Fprintf(&w, " %s %v/%v", strings.ReplaceAll(f.Name, oddShown, "ODD"), f.TotalSamples, f.SelfSamples)
				}
				w.WriteString("\n")
			}
		}
		if diff := cmp.Diff(want, w.String()); diff != "" {
			t.Errorf("times %t: %s", timed, diff)
		}
	}
}
