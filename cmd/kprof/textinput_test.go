//go:build linux

package main

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"kprof/perfevent/livetest"
)

// foldText has kprof read text from its standard input and fold one event.
func foldText(t *testing.T, text []byte, args ...string) map[string]uint64 {
	t.Helper()
	cmd := kprof(t, append([]string{"convert", "-", "-f", "folded"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(text), &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%.2000s", cmd, err, stderr.Bytes())
	}
	lines := foldedLines(t, bytes.NewReader(out))
	return lines
}

// TestScriptTextOfDemo pipes what perf prints of a recording into kprof, which
// must come to what kprof makes of the recording itself.
func TestScriptTextOfDemo(t *testing.T) {
	livetest.Require(t, livetest.Perf)
	data := filepath.Join(t.TempDir(), "perf.data") // perf wants it to be the user's
	demo, err := os.ReadFile("../../testdata/demo.data")
	if err != nil {
		t.Fatal(err)
	}
	livetest.WriteFile(t, data, demo)
	folded, err := os.ReadFile("../../testdata/demo.folded")
	if err != nil {
		t.Fatal(err)
	}
	want := foldedLines(t, bytes.NewReader(folded))
	for _, fields := range []string{"", "+pid", "+symoff", "comm,tid,time,period,ip,sym,dso", "comm,period,event,ip,sym,dso"} {
		args := []string{"script", "-i", data, "--kallsyms", "../../testdata/demo.kallsyms", "--symfs", "../../testdata/symfs"}
		if fields != "" {
			args = append(args, "-F", fields)
		}
		missing, extra := subtract(want, foldText(t, command(t, nil, "perf", args...)))
		if len(missing)+len(extra) > 0 {
			t.Errorf("-F %s: only the recording has %v, only the text %v", fields, missing, extra)
		}
	}
}

// eventText leaves of perf script's text the samples of one event.
func eventText(text []byte, event string) []byte {
	var b bytes.Buffer
	take := false
	for line := range bytes.Lines(text) {
		if c := line[0]; c != '\t' && c != '\n' && c != '#' {
			take = bytes.Contains(line, []byte(" "+event+": "))
		}
		if take {
			b.Write(line)
		}
	}
	return b.Bytes()
}

var printedPeriod = regexp.MustCompile(`(?m)^(\S.*\d:) +\d+( +\S+: )$`)

// TestLiveScriptText compares how kprof folds the text of perf script with how
// scriptFold does, for several sorts of recordings and choices of fields. (That
// scriptFold folds it as kprof does the recording is for TestEndToEnd.)
func TestLiveScriptText(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Perf)
	all := []string{
		"", "comm,tid,time,period,event,ip,sym,dso", "comm,pid,tid,time,period,event,ip,sym,dso",
		"comm,pid,period,event,ip,sym,dso", "comm,period,event,ip,sym,dso", "comm,tid,time,period,event,ip,sym,symoff,dso",
		"comm,tid,time,event,ip,sym,dso", "comm,event,ip,sym,dso",
		"--header", "--ns",
	}
	for _, x := range []struct {
		name   string
		record []string
		events []string
		fields []string
	}{
		{"cpu-clock", []string{"-g", "-F", "5000", "-e", "cpu-clock"}, []string{"cpu-clock"}, append([]string{"+pid", "+misc", "+srcline"}, all...)},
		{"several", []string{"-g", "-e", "sched:sched_switch,syscalls:sys_enter_openat,cpu-clock"}, []string{"sched:sched_switch", "syscalls:sys_enter_openat", "cpu-clock"}, all},
		{"dwarf", []string{"--call-graph", "dwarf,4096", "-F", "2000", "-e", "cpu-clock"}, []string{"cpu-clock"}, all},
	} {
		t.Run(x.name, func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "perf.data")
			// Of each event there are more than ten stacks: each program of the loop waits
			// for another, or for the time, and ends.
			load := []string{"-q", "-o", data, "-m", "2M", "--", "sh", "-c", `ls -lR /usr/share/doc >/dev/null; find /usr/lib/x* | sort | md5sum >/dev/null
				for i in 1 2 3 4 5 6 7 8 9 10; do ls / | cat | sort | head -n 1 | wc -l >/dev/null; sleep 0.001; done`}
			command(t, nil, "perf", slices.Concat([]string{"record"}, x.record, load)...)
			text := command(t, nil, "perf", "script", "--no-inline", "-i", data)
			for _, fields := range x.fields {
				args := []string{"script", "--no-inline", "-i", data}
				switch {
				case strings.HasPrefix(fields, "--"):
					args = append(args, fields)
				case fields != "":
					args = append(args, "-F", fields)
				}
				printed := command(t, nil, "perf", args...)
				for _, event := range x.events {
					whole := eventText(text, event)
					if strings.Contains(fields, "event") && !strings.Contains(fields, "period") {
						whole = printedPeriod.ReplaceAll(whole, []byte("$1$2"))
					}
					want := foldedByScript(t, whole)
					got := foldText(t, printed, "--event", event)
					maps.DeleteFunc(got, func(line string, _ uint64) bool { return strings.HasPrefix(line, ":-1") }) // as scriptFold
					if len(want) < 10 {
						t.Errorf("%s: only %d lines: the load was too small to tell anything", event, len(want))
					}
					missing, extra := subtract(want, got)
					if len(missing)+len(extra) > 0 {
						t.Errorf("%s, -F %s: of %d lines the text alone has %d, kprof %d: %s", event, fields, len(want), len(missing), len(extra),
							fmt.Sprint(missing, extra)[:min(1000, len(fmt.Sprint(missing, extra)))])
					}
				}
			}
		})
	}
}

func foldedByScript(t *testing.T, text []byte) map[string]uint64 {
	t.Helper()
	f := scriptLines(t, bytes.NewReader(text), false)
	return f.lines
}

// TestScriptTextCost compares the CPU time that FlameGraph's script takes for text
// with kprof's, which is to be a tenth.
func TestScriptTextCost(t *testing.T) {
	script := livetest.StackCollapse(t)
	name := filepath.Join(t.TempDir(), "perf.txt")
	livetest.WriteFile(t, name, manySamples(60000))
	cost := func(cmd *exec.Cmd) (time.Duration, []byte) {
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", cmd, err)
		}
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), out
	}
	theirs, want := cost(exec.Command("perl", script, name))
	ours, got := cost(kprof(t, "convert", name, "-f", "folded"))
	t.Logf("%v and %v", theirs, ours)
	if !bytes.Equal(got, want) {
		t.Errorf("kprof and %s differ", script)
	}
	if ours > theirs/6 { // a machine under load disturbs the one that takes less more
		t.Errorf("%v, more than a tenth of the %v of %s", ours, theirs, script)
	}
}

// manySamples is text of n samples of 25 frames, of about a hundred stacks for each
// of their leaves.
func manySamples(n int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "worker%d %5d/%-5d [%03d] %6d.%06d:   %8d cycles:P: \n", i%7, 1000+i%7, 1000+i%50, i%8, 1000+i/1000, i%1000, rng.IntN(1e6)+1)
		base := rng.IntN(100)
		for d := range 25 {
			k := (base*31 + d*7) % 5000
			if d < 2 {
				k = rng.IntN(100)
			}
			fmt.Fprintf(&b, "\t%16x some_function_%d+0x%x (/usr/lib/x86_64-linux-gnu/lib%d.so.1)\n", 0x7f0000000000+int64(k*256+i%256), k, i%256, k%50)
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}
