package live_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"kprof/convert"
	"kprof/convert/folded"
	"kprof/convert/live"
	"kprof/perfevent"
	"kprof/perfevent/event"
	"kprof/perfevent/livetest"
	"kprof/record"
)

// TestLiveRecord records what a command does, and names the kernel's functions in it.
// The command makes its system calls only when it is recorded, as many as it is told.
// What the program may do afterwards is what it might before.
func TestLiveRecord(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	spec, err := event.ParseSpec("syscalls:sys_enter_write")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", "read go; for i in 1 2 3 4 5; do echo $i; done")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	rights, err := perfevent.ThreadCapabilities()
	if err != nil {
		t.Fatal(err)
	}
	p, stats, err := live.Record(context.Background(), record.Options{
		Specs: []event.Spec{spec}, Period: 1, Target: record.Target{PIDs: []int{cmd.Process.Pid}},
		Start: func() error {
			_, err := in.Write([]byte("go\n"))
			return err
		},
	}, convert.Options{Name: "sh"})
	if err != nil {
		t.Fatal(err)
	}
	if now, err := perfevent.ThreadCapabilities(); err != nil || now != rights {
		t.Errorf("the program had the rights %#x, and has %#x: %v", rights, now, err)
	}
	if n := p.Set.SampleCounts()[0]; n != 5 || stats.Samples != 5 {
		t.Errorf("%d samples in the profile, %d recorded, want 5", n, stats.Samples)
	}
	var text bytes.Buffer
	event, column := p.MainEvent()
	if err := folded.Write(&text, p.Set, folded.Options{Event: event, Column: column}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		if !strings.HasPrefix(line, "sh;") || strings.Contains(line, "[[kernel.kallsyms]]") {
			t.Errorf("not named: %s", line)
		}
	}
	if p.Header.Hostname == "" || p.Set.TimeNanos == 0 || p.Source != "sh" {
		t.Errorf("of %q, started at %d, named %q", p.Header.Hostname, p.Set.TimeNanos, p.Source)
	}
}

// TestLiveExample runs the example: lines of folded stacks, and a line of counts. A CPU
// that is idle has samples too.
func TestLiveExample(t *testing.T) {
	livetest.Require(t, livetest.Root)
	stdout := os.Stdout
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout = w
	defer func() { os.Stdout = stdout }()
	printed := make(chan []byte)
	go func() {
		b, _ := io.ReadAll(r)
		printed <- b
	}()
	ExampleRecord()
	w.Close()
	lines := strings.Split(strings.TrimSuffix(string(<-printed), "\n"), "\n")
	if last := lines[len(lines)-1]; len(lines) < 2 || !strings.HasSuffix(last, " lost") || strings.HasPrefix(last, "0 ") {
		t.Errorf("%q", lines)
	}
}
