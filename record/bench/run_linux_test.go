package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"kprof/perfevent/procfs"
	"kprof/record"
)

func TestMain(m *testing.M) {
	record.ShimMain()
	os.Exit(m.Run())
}

// TestRecord has a shell in the place of a recorder. Runs of both sides take turns, in
// one order and then in the other, and each directory gets a list of its own.
func TestRecord(t *testing.T) {
	dir := t.TempDir()
	order := filepath.Join(dir, "order")
	side := func(name, ops string) Side {
		return Side{Name: name, Dir: filepath.Join(dir, name), Record: func(file string) []string {
			return []string{"sh", "-c", "echo " + name + " >>" + order + "; echo x >" + file + "; echo did " + ops}
		}}
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	o := Options{
		Sides: []Side{side("base", "7"), side("new", "9")}, Runs: 3, Output: null,
		Before: []string{"sh", "-c", "echo before >>" + order}, OpsFrom: regexp.MustCompile("did ([0-9]+)"),
	}
	var told []string
	if err := Record(context.Background(), o, func(r Run) { told = append(told, r.Side+"/"+r.File) }); err != nil {
		t.Fatal(err)
	}
	if want := []string{"base/1.data", "new/1.data", "new/2.data", "base/2.data", "base/3.data", "new/3.data"}; !slices.Equal(told, want) {
		t.Errorf("told %v", told)
	}
	b, err := os.ReadFile(order)
	if want := "before base before new before new before base before base before new"; err != nil || strings.Join(strings.Fields(string(b)), " ") != want {
		t.Errorf("order %q, %v", b, err)
	}
	for name, ops := range map[string]float64{"base": 7, "new": 9} {
		l, err := Read(filepath.Join(dir, name))
		if err != nil || len(l.Runs) != 3 || l.Runs[2].File != "3.data" || l.Runs[2].Ops != ops || l.Runs[2].Seconds <= 0 {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}
	if err := Record(context.Background(), o, nil); !errors.Is(err, os.ErrExist) {
		t.Errorf("into a directory with runs: %v", err)
	}
	o.Sides = []Side{{Dir: filepath.Join(dir, "third"), Record: func(string) []string { return []string{"sh", "-c", "exit 7"} }}}
	var failed *CommandError
	if err := Record(context.Background(), o, nil); !errors.As(err, &failed) || failed.Code != 7 || failed.Before || failed.Number != 1 {
		t.Errorf("a command that fails: %v", err)
	}
	o.Sides[0].Dir, o.OpsFrom = filepath.Join(dir, "fourth"), regexp.MustCompile("did nothing")
	o.Sides[0].Record = func(string) []string { return []string{"true"} }
	if err := Record(context.Background(), o, nil); !errors.Is(err, ErrNoOps) {
		t.Errorf("no operations: %v", err)
	}
	o.Sides[0].Name, o.Sides[0].Dir, o.Before = "base", filepath.Join(dir, "fifth"), []string{"sh", "-c", "exit 3"}
	if err := Record(context.Background(), o, nil); !errors.As(err, &failed) || failed.Code != 3 || !failed.Before || failed.Side != "base" {
		t.Errorf("a command before that fails: %v", err)
	}
}

// TestInterrupted: a recorder that is asked to end makes a file of what it has, and is content.
// That is no run.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	reason := errors.New("enough")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	go func() {
		_, _ = r.Read(make([]byte, 1))
		cancel(reason)
	}()
	dir := filepath.Join(t.TempDir(), "runs")
	o := Options{Output: w, Runs: 1, Sides: []Side{{Dir: dir, Record: func(file string) []string {
		return []string{"sh", "-c", "trap 'echo part >" + file + "; exit 0' TERM; echo recording; while :; do sleep 0.01; done"}
	}}}}
	err = Record(ctx, o, func(r Run) { t.Errorf("a run: %+v", r) })
	if left, _ := os.ReadDir(dir); err != reason || len(left) > 0 {
		t.Errorf("%v, left are %v", err, left)
	}
}

// TestOutputGone: nobody reads what a command writes, in which its operations are looked for.
func TestOutputGone(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	defer w.Close()
	o := Options{Output: w, Runs: 1, OpsFrom: regexp.MustCompile("x"), Sides: []Side{{Dir: t.TempDir(), Record: func(file string) []string {
		return []string{"sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x; echo >" + file}
	}}}}
	if err := Record(context.Background(), o, nil); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("%v", err)
	}
}

// TestNoiseWords: large numbers have no exponent.
func TestNoiseWords(t *testing.T) {
	for n, want := range map[Noise]string{
		{OtherLoad, 0.123}: "other programs used 0.12 CPUs",
		{OtherLoad, 9.87}:  "other programs used 9.9 CPUs",
		{OtherLoad, 120.4}: "other programs used 120 CPUs",
		{Stolen, 1}:        "other virtual machines took 100% of the CPUs' time",
	} {
		if got := n.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestNoise compares conditions ten seconds apart, of a command that took four of CPU.
func TestNoise(t *testing.T) {
	before := conditions{at: time.Unix(100, 0), cpus: procfs.CPUTimes{Busy: 50 * time.Second, Idle: 70 * time.Second, Stolen: time.Second}, kHz: 2e6, throttled: 3}
	for _, test := range []struct {
		change func(*conditions)
		want   []Noise
	}{
		{func(*conditions) {}, nil},
		{func(c *conditions) { c.cpus.Busy += 500 * time.Millisecond }, nil},
		{func(c *conditions) { c.cpus.Busy += 5 * time.Second }, []Noise{{OtherLoad, 0.5}}},
		{func(c *conditions) { c.cpus.Busy += 5 * time.Second; c.cpus.Idle += 600 * time.Second }, nil}, // 64 CPUs
		{func(c *conditions) { c.kHz = 3e6 }, []Noise{{Frequency, 1.5}}},
		{func(c *conditions) { c.kHz = 1.9e6 }, nil},
		{func(c *conditions) { c.throttled = 5 }, []Noise{{Throttled, 2}}},
		{func(c *conditions) { c.cpus.Idle -= 2 * time.Second; c.cpus.Stolen += 2 * time.Second }, []Noise{{Stolen, 0.1}}},
		{func(c *conditions) { c.at = before.at }, nil},
	} {
		after := before
		after.at = after.at.Add(10 * time.Second)
		after.cpus.Busy += 4 * time.Second
		after.cpus.Idle += 16 * time.Second
		test.change(&after)
		if got := noise(before, after, 4*time.Second); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%v, wanted %v", got, test.want)
		}
		for _, n := range test.want {
			if n.String() == string(n.Kind) {
				t.Errorf("%s has no words", n.Kind)
			}
		}
	}
}
