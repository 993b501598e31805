package viewer

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"kprof/convert/browsertest"
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
			livetest.WriteFile(t, load, js)
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
	for i, timed := range []bool{true, false, true} {
		s := exportSet(timed)
		s.Events[1].Instants = i == 2
		p := openProfiler(t, export(t, Firefox, s, exportOptions))
		var w strings.Builder
		w.WriteString("\n")
		for _, process := range p.info.Processes {
			fmt.Fprintln(&w, process.PID, process.Name)
			for _, k := range process.Threads {
				fmt.Fprintf(&w, "  %s %d:", k.Name, k.TID)
				var list struct {
					Functions []struct {
						Name                      string
						TotalSamples, SelfSamples float64
					}
				}
				p.ask(&list, fmt.Sprintf(`"command":"thread","subcommand":"functions","thread":%q,"includeIdle":true`, k.ThreadHandle))
				for _, f := range list.Functions {
					fmt.Fprintf(&w, " %s %v/%v", strings.ReplaceAll(f.Name, oddShown, "ODD"), f.TotalSamples, f.SelfSamples)
				}
				w.WriteString("\n")
			}
		}
		if diff := cmp.Diff(want, w.String()); diff != "" {
			t.Errorf("times %t: %s", timed, diff)
		}
		var markers struct {
			TotalMarkerCount int
			ByType           []struct {
				MarkerName string
				TopMarkers []struct{ HasStack bool }
			}
		}
		p.ask(&markers, fmt.Sprintf(`"command":"thread","subcommand":"markers","thread":%q`, p.info.Processes[0].Threads[0].ThreadHandle))
		if n := markers.TotalMarkerCount; i < 2 && n != 0 || i == 2 && (n != 5 || markers.ByType[0].MarkerName != s.Events[1].Name || !markers.ByType[0].TopMarkers[0].HasStack) {
			t.Errorf("times %t, instants %t: markers %+v", timed, i == 2, markers)
		}
	}
}

// profiler is a Firefox Profiler without a window, that answers questions.
type profiler struct {
	t       *testing.T
	conn    net.Conn
	answers *json.Decoder
	info    struct {
		Processes []struct {
			PID, Name string
			Threads   []struct {
				ThreadHandle, Name string
				TID                int
			}
		}
	}
}

// openProfiler opens a profile. It talks to the server itself, for as long as it
// takes: the program's own client gives the server half a second to start.
func openProfiler(t *testing.T, profile []byte) *profiler {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "perf.firefox.json")
	livetest.WriteFile(t, file, profile)
	server := exec.Command("node", profilerCLI, "--daemon", file, "--session", "test")
	server.Env = append(os.Environ(), "PROFILER_CLI_SESSION_DIR="+dir, "PROFILER_CLI_NO_SYMBOLICATE=1")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	t.Cleanup(func() {
		server.Process.Kill()
		<-ended
	})
	p := &profiler{t: t}
	deadline := time.Now().Add(2 * time.Minute)
	wait := func(why any) {
		select {
		case end := <-ended:
			ended <- end
			t.Fatalf("the profiler has ended: %v", end)
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatal(why)
		}
	}
	for {
		conn, err := net.Dial("unix", filepath.Join(dir, "test.sock"))
		if err == nil {
			p.conn, p.answers = conn, json.NewDecoder(conn)
			t.Cleanup(func() { conn.Close() })
			break
		}
		wait(err)
	}
	for {
		switch status, err := p.say(`{"type":"status"}`); {
		case status.Type == "ready":
			p.ask(&p.info, `"command":"profile","subcommand":"info","all":true`)
			return p
		case status.Type != "loading" && status.Type != "symbolicating":
			t.Fatalf("the profiler does not open it: %+v %v", status, err)
		}
		wait("still loading")
	}
}

// answer is what the profiler says to a message.
type answer struct {
	Type, Error string
	Result      json.RawMessage
}

// say sends a message, a line of JSON.
func (p *profiler) say(message string) (a answer, err error) {
	if _, err := fmt.Fprintln(p.conn, message); err != nil {
		return a, err
	}
	return a, p.answers.Decode(&a)
}

// ask has the profiler's answer to a command in v.
func (p *profiler) ask(v any, command string) {
	p.t.Helper()
	a, err := p.say(`{"type":"command","command":{` + command + `}}`)
	if err != nil || a.Type != "success" {
		p.t.Fatalf("%s: %v %s", command, err, a.Error)
	}
	if err := json.Unmarshal(a.Result, v); err != nil {
		p.t.Fatalf("%v in %s", err, a.Result)
	}
}
