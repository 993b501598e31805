//go:build linux

package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata/perftext"
)

// consumers are what each output is written for, or stands in for it: it must accept
// the file, and find something in it.
var consumers = map[string]func(t *testing.T, file string) error{
	"x.pb.gz":                 acceptedByPprof,
	"x.folded":                acceptedAsFolded,
	"x.svg":                   acceptedAsXML,
	"x.html":                  acceptedAsPage,
	"x.txt":                   acceptedAsText,
	"x.speedscope.json":       acceptedAsJSON,
	"x.firefox.json.gz":       acceptedAsJSON,
	"x.trace.json":            acceptedAsJSON,
	"reversed.svg":            acceptedAsXML,
	"chart.svg":               acceptedAsXML,
	"z-again.svg":             acceptedAsXML,
	"z-again.speedscope.json": acceptedAsJSON,
}

// outputFlags are what some of the outputs are made with besides.
var outputFlags = map[string][]string{
	"x.txt":                   {"-f", "text"},
	"reversed.svg":            {"--reverse", "--inverted", "--min-width", "0"},
	"chart.svg":               {"--flamechart"},
	"z-again.svg":             nil,
	"z-again.speedscope.json": nil,
}

// TestOutputsAreAccepted writes every recording there is in every format. Either what
// is written is accepted by what it is written for and has samples, or nothing is
// written, and said, with exit code 1.
func TestOutputsAreAccepted(t *testing.T) {
	livetest.GoTool(t, "pprof")
	for _, in := range recordingsForOutputs(t) {
		t.Run(filepath.Base(in), func(t *testing.T) {
			dir := t.TempDir()
			_, said := runInside(t, "report", "--stats", in)
			empty := strings.Contains(said, "it has no samples")
			for _, out := range sortedKeys(consumers) {
				from := in
				if strings.HasPrefix(out, "z-again.") { // out of what we have written
					if from = filepath.Join(dir, "x.pb.gz"); empty {
						continue
					}
				}
				file := filepath.Join(dir, out)
				args := append([]string{"convert", from, "-o", file}, outputFlags[out]...)
				if out != "x.pb.gz" {
					// To read this kernel's symbols takes longer than all else.
					args = append(args, "--kallsyms", filepath.Join(root, "testdata/demo.kallsyms"))
				}
				code, said := runInside(t, args...)
				_, err := os.Stat(file)
				switch {
				case code == 0 && empty:
					t.Errorf("%s: written, though there are no samples", out)
				case code == 0:
					if err := consumers[out](t, file); err != nil {
						t.Errorf("%s: %v", out, err)
					}
				case code != exitFailed || said == "" || !errors.Is(err, os.ErrNotExist):
					t.Errorf("%s: exit code %d, said %q, file: %v", out, code, said, err)
				case !empty && out != "chart.svg":
					t.Errorf("%s: not written: %s", out, said)
				}
			}
		})
	}
}

// recordingsForOutputs are those in testdata, of the corpus where there is one, and
// some that are written here.
func recordingsForOutputs(t *testing.T) []string {
	all := append(livetest.Recordings(t), filepath.Join(root, "testdata/demo.data"))
	dir := t.TempDir()
	for name, text := range oddRecordings {
		rec, err := perftext.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		b, err := rec.Assemble(perftext.Form{Order: abi.LittleEndian})
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, name)
		livetest.WriteFile(t, file, b)
		all = append(all, file)
	}
	return all
}

// oddRecordings have what an output might stumble over.
var oddRecordings = map[string]string{
	"same-name": `event cpu-clock ids=1
event cpu-clock ids=2
comm t=0 pid=7 comm=x
sample t=1 pid=7 id=1 period=250 user 0x1000
sample t=2 pid=7 id=2 period=100 user 0x1000
`,
	"same-name-tracepoints": `event sched:sched_switch type=tracepoint config=300 ids=1
event sched:sched_switch type=tracepoint config=300 ids=2
comm t=0 pid=7 comm=x
sample t=1 pid=7 id=1 period=1 user 0x1000
sample t=2 pid=7 id=2 period=1 user 0x1000
`,
	"hybrid": `event cpu_atom/cycles/ type=10 ids=1
event cpu_core/cycles/ type=4 ids=2
comm t=0 pid=7 comm=x
sample t=1 pid=7 id=1 period=250 user 0x1000
sample t=2 pid=7 id=2 period=100 user 0x1000
`,
	// Names that say something to a parser of the output.
	"hostile-names": `event "a.samples" type=tracepoint config=1 ids=1
event a type=tracepoint config=2 ids=2
event "<&]]>\x01\xff" type=tracepoint config=3 ids=3
comm t=0 pid=7 comm="<&;\x02\xfe ]]>"
mmap t=0 pid=7 addr=0x1000 len=0x1000 off=0 file="/a]]>\x03\"\xfd;<"
sample t=1 pid=7 id=1 period=5 user 0x1000
sample t=2 pid=7 id=2 period=6 user 0x1000
sample t=3 pid=7 id=3 period=7 user 0x1000 0x1010
`,
	"unterminated": `event cpu-clock ids=1
comm t=0 pid=7 comm=x
sample t=1 pid=7 id=1 period=250 user 0x1000
sample t=2 pid=7 id=1 period=250 user 0x1000
truncate 9
`,
	"weightless": `event cpu-clock ids=1
comm t=0 pid=7 comm=x
sample t=1 pid=7 id=1 period=0 user 0x1000
`,
	"no-samples": `event cpu-clock ids=1
comm t=0 pid=7 comm=x
`,
	"no-weights": `event cpu-clock ids=1
event page-faults type=software config=2 ids=2
comm t=0 pid=7 comm=x
sample t=1 pid=7 id=1 period=0 user 0x1000
sample t=2 pid=7 id=1 period=0 user 0x1000
sample t=3 pid=7 id=2 period=4 user 0x1000
`,
	"no-events": "comm t=0 pid=7 comm=x\n",
}

// runInside runs a command line as the shell would, and returns the exit code and what it
// wrote to standard error.
func runInside(t *testing.T, args ...string) (code int, said string) {
	t.Helper()
	code, b := runKeeping(t, &os.Stderr, args...)
	return code, string(b)
}

// runKeeping is runInside that returns what is written to one of os.Stdout and os.Stderr.
func runKeeping(t *testing.T, kept **os.File, args ...string) (code int, written []byte) {
	t.Helper()
	stdout, stderr := os.Stdout, os.Stderr
	defer func() { os.Stdout, os.Stderr = stdout, stderr }()
	f, err := os.Create(filepath.Join(t.TempDir(), "written"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	os.Stdout, os.Stderr = null, null
	*kept = f
	code = run(args)
	written, err = os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return code, written
}

func acceptedByPprof(t *testing.T, file string) error {
	cmd := exec.Command(livetest.GoTool(t, "pprof"), "-raw", file)
	cmd.Env = append(os.Environ(), "PPROF_BINARY_PATH=/nonexistent", "PPROF_TMPDIR="+t.TempDir())
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || errs.Len() > 0 {
		return fmt.Errorf("go tool pprof: %v: %s", err, errs.String())
	}
	_, samples, ok := strings.Cut(string(out), "\nSamples:\n")
	types, samples, _ := strings.Cut(samples, "\n")
	if samples, _, _ = strings.Cut(samples, "\nLocations\n"); !ok || types == "" || samples == "" {
		return fmt.Errorf("go tool pprof sees no samples:\n%.500s", out)
	}
	if strings.Count(types, " ") > 1 && !strings.Contains(types, "[dflt]") {
		return fmt.Errorf("no default among the sample types %s", types)
	}
	return nil
}

// foldedLine is as flamegraph.pl takes it.
var foldedLine = regexp.MustCompile(`^[^\n]+ \d+$`)

func acceptedAsFolded(_ *testing.T, file string) error {
	b, err := os.ReadFile(file)
	if err != nil || len(b) == 0 {
		return fmt.Errorf("empty: %v", err)
	}
	for line := range strings.Lines(string(b)) {
		if !foldedLine.MatchString(strings.TrimSuffix(line, "\n")) {
			return fmt.Errorf("line %q", line)
		}
	}
	return nil
}

func acceptedAsText(_ *testing.T, file string) error {
	b, err := os.ReadFile(file)
	if err == nil && bytes.Count(b, []byte("\n")) < 5 {
		err = fmt.Errorf("no rows: %q", b)
	}
	return err
}

func acceptedAsXML(_ *testing.T, file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	d := xml.NewDecoder(bytes.NewReader(b))
	texts := 0
	for {
		switch tok, err := d.Token(); {
		case errors.Is(err, io.EOF) && texts > 0:
			return nil
		case err != nil:
			return err
		default:
			if s, ok := tok.(xml.StartElement); ok && s.Name.Local == "text" {
				texts++
			}
		}
	}
}

func acceptedAsPage(_ *testing.T, file string) error {
	b, err := os.ReadFile(file)
	if err == nil && !bytes.Contains(b, []byte("</html>")) {
		err = errors.New("no end")
	}
	return err
}

func acceptedAsJSON(_ *testing.T, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(file, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return err
		}
	}
	var v any
	d := json.NewDecoder(r)
	if err := d.Decode(&v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("something behind the end: %v", err)
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// TestHelpUnwritten: help that could not be written is an error, as every other output.
func TestHelpUnwritten(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for _, args := range [][]string{{"--help"}, {}, {"record", "--help"}, {"help", "record"}, {"help", "events"}, {"--version"}, {"completion", "bash"}} {
		cmd := kprof(t, args...)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = full, &said
		_ = cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != exitFailed || said.String() != "kprof: write /dev/stdout: no space left on device\n" {
			t.Errorf("kprof %q: exit code %d: %s", args, code, &said)
		}
	}
}
