// Package bench records a command again and again, and says what disturbed it.
package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// ListName is the file beside recordings that says what they are: a List as JSON.
const ListName = "bench.json"

// List is the runs in a directory.
type List struct {
	Schema string `json:"schema"` // Schema
	Runs   []Run  `json:"runs"`
}

// Schema is what a List begins with.
const Schema = "kprof.bench"

// Run is a command that was recorded once.
type Run struct {
	File    string  `json:"file"`            // base name of the recording
	Ops     float64 `json:"ops,omitempty"`   // operations that it did, 0 if not known
	Seconds float64 `json:"seconds"`         // from the start of its recorder to the end of that, which outlasts it
	CPU     float64 `json:"cpu_seconds"`     // that it and its recorder took
	Noise   []Noise `json:"noise,omitempty"` // what disturbed it
	Side    string  `json:"-"`               // Side.Name
	Number  int     `json:"-"`               // counts from 1, of its side
	Again   int     `json:"again,omitempty"` // how many runs were given up for this one
}

// Kind is what can disturb a run.
type Kind string

// What disturbs a run, and what a Noise's Amount says of it.
const (
	OtherLoad Kind = "other load" // CPUs that other programs used, on average
	Frequency Kind = "frequency"  // ratio of the CPUs' frequency after the run to that before
	Throttled Kind = "throttled"  // times that CPUs were slowed down as they were too hot
	Stolen    Kind = "stolen"     // share of the CPUs' time that a hypervisor gave to others
)

// Noise is something that disturbed a run.
type Noise struct {
	Kind   Kind    `json:"kind"`
	Amount float64 `json:"amount"`
}

func (n Noise) String() string {
	switch n.Kind {
	case OtherLoad:
		return fmt.Sprintf("other programs used %s CPUs", twoDigits(n.Amount))
	case Frequency:
		return fmt.Sprintf("the frequency of the CPUs changed to ×%.2f", n.Amount)
	case Throttled:
		return fmt.Sprintf("CPUs were throttled %.0f times", n.Amount)
	case Stolen:
		return fmt.Sprintf("other virtual machines took %s%% of the CPUs' time", twoDigits(100*n.Amount))
	}
	return string(n.Kind)
}

// twoDigits writes a number with two digits, but all those before the point: "120", not 1.2e+02.
func twoDigits(x float64) string {
	if x >= 10 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.2g", x)
}

// What is too much of it.
const (
	muchLoad      = 0.05 // of the CPUs there are
	leastLoad     = 0.1  // CPUs
	muchFrequency = 0.1  // change of the ratio
	muchStolen    = 0.01
)

// maxList bounds a file of a List.
const maxList = 1 << 20

// Read reads the List of a directory; os.ErrNotExist if it has none.
func Read(dir string) (*List, error) {
	name := filepath.Join(dir, ListName)
	st, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > maxList {
		return nil, fmt.Errorf("%s: no list of runs", name)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	l, err := parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return l, nil
}

func parse(b []byte) (*List, error) {
	var l List
	if err := json.Unmarshal(b, &l); err != nil {
		return nil, err
	}
	if l.Schema != Schema {
		return nil, fmt.Errorf("no list of runs: its schema is %q", l.Schema)
	}
	return &l, nil
}

// write writes the List of a directory.
func write(dir string, runs []Run) error {
	b, err := json.MarshalIndent(List{Schema, runs}, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ListName), append(b, '\n'), 0o600)
}

// ErrNoOps says that a command's output does not have the number of its operations.
var ErrNoOps = errors.New("the output does not have the number of operations")

// Ops finds the number of operations in what a command has written: what the last match of a
// pattern has in its first group, or all of it.
func Ops(output []byte, pattern *regexp.Regexp) (float64, error) {
	all := pattern.FindAllSubmatch(output, -1)
	if len(all) == 0 {
		return 0, fmt.Errorf("%w: nothing matches %q", ErrNoOps, pattern)
	}
	last := all[len(all)-1]
	text := string(last[min(1, len(last)-1)])
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0) || math.IsInf(n, 1) {
		return 0, fmt.Errorf("%w: %q is no number above 0", ErrNoOps, text)
	}
	return n, nil
}
