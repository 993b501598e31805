package control_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"kprof/record/control"
)

// told notes what it is to do.
type told []string

func (t *told) note(format string, args ...any) error {
	*t = append(*t, fmt.Sprintf(format, args...))
	return nil
}

func (t *told) Enable(event string) error {
	if event == "none" {
		return errors.New("there is none")
	}
	return t.note("enable %q", event)
}
func (t *told) Disable(event string) error { return t.note("disable %q", event) }
func (t *told) Snapshot() error            { return t.note("snapshot") }
func (t *told) Stop() error                { return t.note("stop") }
func (t *told) List() error                { return t.note("list") }

func TestServe(t *testing.T) {
	const commands = "enable\x00disable  cpu-clock \nenable none\nping\n\nsnapshot\x00\r\nsnapshots\nstop now\nevlist -v\nstop"
	var did told
	var acks strings.Builder
	var failed []string
	err := control.Serve(strings.NewReader(commands), &acks, &did, func(command string, err error) {
		failed = append(failed, fmt.Sprintf("%s: %t", command, errors.Is(err, control.ErrUnknown)))
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(did, ", "), `enable "", disable "cpu-clock", snapshot, list, stop`; got != want {
		t.Errorf("did %s, want %s", got, want)
	}
	if got, want := acks.String(), strings.Repeat("ack\n\x00", 6); got != want {
		t.Errorf("acknowledged %q, want %q", got, want)
	}
	if got, want := strings.Join(failed, ", "), "enable none: false, snapshots: true, stop now: true"; got != want {
		t.Errorf("failed: %s, want %s", got, want)
	}
}

func TestServeLongLine(t *testing.T) {
	err := control.Serve(strings.NewReader(strings.Repeat("x", 1<<20)), nil, new(told), func(string, error) {})
	if err == nil {
		t.Error("a line of a megabyte is taken")
	}
}

// ackChannel passes on what is written, a write at a time.
type ackChannel chan string

func (c ackChannel) Write(b []byte) (int, error) { c <- string(b); return len(b), nil }

// TestServeSilence: a command without an end is done when nothing follows it, once, and not
// while the rest of it comes in time.
func TestServeSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		var did told
		acks := make(ackChannel, 10)
		served := make(chan error)
		go func() {
			served <- control.Serve(r, acks, &did, func(command string, err error) { t.Errorf("%s: %v", command, err) })
		}()
		for i, say := range []struct {
			part string
			then time.Duration
			done int
		}{
			{"ena", 49 * time.Millisecond, 0},
			{"ble", 49 * time.Millisecond, 0},
			{"", 2 * time.Millisecond, 1},
			{"disable\nsnap", 49 * time.Millisecond, 2},
			{"shot", time.Hour, 3},
			{"stop", time.Millisecond, 3},
		} {
			if _, err := io.WriteString(w, say.part); err != nil {
				t.Error(err)
			}
			time.Sleep(say.then)
			synctest.Wait()
			if len(acks) != say.done {
				t.Errorf("part %d: %d commands are done, want %d", i, len(acks), say.done)
			}
		}
		w.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
		if got, want := strings.Join(did, ", "), `enable "", disable "", snapshot, stop`; got != want || len(acks) != len(did) {
			t.Errorf("did %s, want %s; %d acknowledged", got, want, len(acks))
		}
		if got := <-acks; got != "ack\n\x00" {
			t.Errorf("acknowledged %q", got)
		}
	})
}

func Example() {
	var did told
	fmt.Println(control.Serve(strings.NewReader("enable\nstop\n"), nil, &did, nil), did)
	// Output: <nil> [enable "" stop]
}
