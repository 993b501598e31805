package control_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

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
	const commands = "enable\ndisable  cpu-clock \nenable none\nping\n\nsnapshot\x00\r\nsnapshots\nstop now\nevlist -v\nstop"
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
	if got, want := acks.String(), strings.Repeat("ack\n", 6); got != want {
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

func Example() {
	var did told
	fmt.Println(control.Serve(strings.NewReader("enable\nstop\n"), nil, &did, nil), did)
	// Output: <nil> [enable "" stop]
}
