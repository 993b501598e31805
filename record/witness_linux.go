package record

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Witness is a process of our own that does nothing but be in our process group.
// It tells a signal that was sent to the group, as a terminal does, and which the
// command has got as well, from one that was sent to this process alone: Go does
// not tell who sent a signal, nor how.
type Witness struct {
	cmd  *exec.Cmd
	hold *os.File // its end lets the witness exit
}

// witnessName is the argv[0] by which the witness knows itself.
const witnessName = "kprof: waiting for signals"

func isWitness() bool { return len(os.Args) == 3 && os.Args[0] == witnessName }

// witness waits for its parent's end, or for a signal to end it; it does not
// return.
func witness() {
	ready, hold := shimEnd(os.Args[1]), shimEnd(os.Args[2])
	_ = unix.Close(ready) // whoever waits for its end goes on
	for waitGate(hold) {
		continue
	}
	os.Exit(0)
}

// StartWitness starts a witness. Like Launch, it wants ShimMain to be the first
// call of main.
func StartWitness() (*Witness, error) {
	if isShim() || isWitness() {
		return nil, errNoShimMain
	}
	readyR, readyW, err := highPipe(true)
	if err != nil {
		return nil, fmt.Errorf("start witness: %w", err)
	}
	defer readyR.Close()
	holdR, holdW, err := highPipe(false)
	if err != nil {
		readyW.Close()
		return nil, fmt.Errorf("start witness: %w", err)
	}
	// Not with the standard files: who reads a pipe that we write waits for all
	// its writers, and a witness that is killed in a moment is one of them.
	w := &Witness{hold: holdW}
	w.cmd = &exec.Cmd{Path: "/proc/self/exe", Args: []string{witnessName, fdNumber(readyW), fdNumber(holdR)}, Dir: "/"}
	if err := startChild(w.cmd, readyW, holdR); err != nil {
		return nil, errors.Join(fmt.Errorf("start witness: %w", err), holdW.Close())
	}
	_, _ = readyR.Read(make([]byte, 1)) // its end
	return w, nil
}

// Saw reports whether the witness has got sig, or has ended otherwise: then
// nothing is known, and the group is the likelier. A sender reaches one process
// of a group after the other, so that it is asked for a moment.
func (w *Witness) Saw(sig os.Signal) bool {
	if w == nil {
		return true
	}
	number, _ := sig.(unix.Signal)
	for range 10 {
		if w.pending(number) {
			return true
		}
		time.Sleep(5 * time.Millisecond)
	}
	return false
}

// pending reports whether the witness is dying of a signal or dead. What was sent
// is pending at once, however long it takes until the witness runs.
func (w *Witness) pending(sig unix.Signal) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.cmd.Process.Pid))
	if err != nil {
		return true
	}
	for line := range strings.Lines(string(status)) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch key {
		case "State":
			if strings.HasPrefix(value, "Z") || strings.HasPrefix(value, "X") {
				return true
			}
		case "SigPnd", "ShdPnd":
			var set uint64
			if _, err := fmt.Sscanf(value, "%x", &set); err == nil && set>>(sig-1)&1 != 0 {
				return true
			}
		}
	}
	return false
}

// Close ends the witness.
func (w *Witness) Close() error {
	if w == nil {
		return nil
	}
	err := w.hold.Close()
	var exit *exec.ExitError
	if werr := w.cmd.Wait(); !errors.As(werr, &exit) {
		err = errors.Join(err, werr)
	}
	if err != nil {
		return fmt.Errorf("end witness: %w", err)
	}
	return nil
}
