package marker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
)

// open opens a Reader of rings that are empty, and returns the file to write into.
func open(t *testing.T, names bool) (*Reader, *os.File) {
	t.Helper()
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	livetest.SetTracing(t, true) // and the buffer is emptied
	fs := livetest.TracefsMounted(t)
	e := perfevent.RingOwner(perfevent.Features{}, 1)
	r, err := Open(fs, &e.Attr, names)
	livetest.CloseAtEnd(t, r, err)
	if err := r.Drain(func([]byte) error { return nil }); err != nil {
		t.Fatal(err)
	}
	r.stats = Stats{}
	f, err := os.OpenFile(filepath.Join(fs.Path(), "trace_marker"), os.O_WRONLY, 0)
	livetest.CloseAtEnd(t, f, err)
	return r, f
}

// sample is what a record says, decoded by the reader of perf's records.
type sample struct {
	event, text string
	pid, tid    int32
	time        uint64
	cpu         int32
}

// drain returns the samples, and what the records of other types say.
func drain(t *testing.T, r *Reader) (samples []sample, lost uint64, comms []string) {
	t.Helper()
	layout := abi.NewLayout(&r.Events()[0].Attr, abi.LittleEndian)
	err := r.Drain(func(rec []byte) error {
		size := int(binary.LittleEndian.Uint16(rec[6:]))
		if size != len(rec) || size%8 != 0 {
			return fmt.Errorf("a record of %d bytes says %d", len(rec), size)
		}
		body := rec[abi.HeaderSize:]
		switch typ := abi.RecordType(binary.LittleEndian.Uint32(rec)); typ {
		case abi.RecordLost:
			lost += binary.LittleEndian.Uint64(body[8:])
		case abi.RecordComm:
			name, _, _ := bytes.Cut(body[8:], []byte{0})
			comms = append(comms, string(name))
		case abi.RecordSample:
			var s abi.Sample
			if err := layout.DecodeSample(&s, abi.MiscUser, body); err != nil {
				return err
			}
			raw := s.Raw
			text, _, _ := bytes.Cut(raw[16:], []byte{0}) // of print: after the common fields and ip
			e := r.Events()[s.ID-firstID]
			samples = append(samples, sample{e.Name, strings.TrimSuffix(string(text), "\n"), int32(s.PID), int32(s.TID), s.Time, int32(s.CPU)})
		default:
			return fmt.Errorf("record of type %d", typ)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return samples, lost, comms
}

// onCPU runs f on each CPU that the test may use.
func onCPU(t *testing.T, f func(cpu int)) (cpus int) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	defer unix.SchedSetaffinity(0, &all)
	for cpu := range 1024 {
		if !all.IsSet(cpu) {
			continue
		}
		var one unix.CPUSet
		one.Set(cpu)
		if err := unix.SchedSetaffinity(0, &one); err != nil {
			t.Fatal(err)
		}
		f(cpu)
		cpus++
	}
	return cpus
}

// TestLiveMarker: what is written on each CPU is read, once, with who wrote it, where, and
// when by perf's clock.
func TestLiveMarker(t *testing.T) {
	r, f := open(t, true)
	e := perfevent.RingOwner(perfevent.Features{}, 1)
	clock, err := perfevent.NewClock(&e.Attr)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	before := clock.Now()
	cpus := onCPU(t, func(cpu int) {
		for i := range 300 {
			text := fmt.Sprintf("cpu %d line %d %s", cpu, i, strings.Repeat("x", i%50))
			want = append(want, text)
			if _, err := f.WriteString(text + "\n"); err != nil {
				t.Fatal(err)
			}
		}
	})
	after := clock.Now()
	got, lost, comms := drain(t, r)
	if len(got) != 300*cpus || lost != 0 || r.Stats() != (Stats{Samples: uint64(300 * cpus)}) {
		t.Fatalf("%d samples of %d, %d lost, %+v", len(got), 300*cpus, lost, r.Stats())
	}
	// Both clocks are read to the microsecond, at five tries.
	const slack = 1e6
	var last uint64
	for i, s := range got {
		if s.event != "ftrace:print" || s.text != want[i] || !strings.HasPrefix(s.text, fmt.Sprintf("cpu %d ", s.cpu)) {
			t.Errorf("%+v, want %q", s, want[i])
		}
		if s.pid != int32(os.Getpid()) || s.tid != int32(unix.Gettid()) && cpus == 1 {
			t.Errorf("%+v: not of this process", s)
		}
		if s.time < before-slack || s.time > after+slack || s.time < last {
			t.Errorf("%+v: not between %d and %d, after %d", s, before, after, last)
		}
		last = s.time
	}
	name, err := os.ReadFile("/proc/self/comm")
	if err != nil || len(comms) != 1 || comms[0]+"\n" != string(name) {
		t.Errorf("names %q, want %q (%v)", comms, name, err)
	}
	if again, _, comms := drain(t, r); len(again)+len(comms) != 0 {
		t.Errorf("read twice: %v %v", again, comms)
	}
}

// TestLiveMarkerLost: what the ring overwrote is counted, where it is missing.
func TestLiveMarkerLost(t *testing.T) {
	r, f := open(t, false)
	line := []byte(strings.Repeat("y", 1000) + "\n")
	const lines = 12000 // 12 MB, and a ring has 1.4, unless it was enlarged
	for range lines {
		if _, err := f.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	got, lost, comms := drain(t, r)
	if uint64(len(got))+lost != lines || lost == 0 || r.Stats().Lost != lost || len(comms) != 0 {
		t.Errorf("%d samples, %d lost, of %d; names %q", len(got), lost, lines, comms)
	}
}

// TestTimeOfStats reads the time in a ring's statistics.
func TestTimeOfStats(t *testing.T) {
	for text, want := range map[string]uint64{
		"oldest event ts:     0.000000\nnow ts: 15099.838208\ndropped events: 0\n": 15099838208000,
		"x\nnow ts:     0.000001\n": 1000,
		"x\nnow ts: 7\n":            0, // of a clock that counts no time
		"":                          0,
	} {
		got, ok := timeOfStats(text)
		if ok != (want != 0) || ok && got != want {
			t.Errorf("%q: %d, %v, want %d", text, got, ok, want)
		}
	}
}

// TestLiveMarkerClock: a clock that counts no time is refused.
func TestLiveMarkerClock(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	livetest.ChangeMachine(t)
	fs := livetest.TracefsMounted(t)
	path := filepath.Join(fs.Path(), "trace_clock")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, name, _ := strings.Cut(string(text), "[")
	name, _, _ = strings.Cut(name, "]")
	defer os.WriteFile(path, []byte(name), 0)
	if err := os.WriteFile(path, []byte("counter"), 0); err != nil {
		t.Fatal(err)
	}
	e := perfevent.RingOwner(perfevent.Features{}, 1)
	if r, err := Open(fs, &e.Attr, false); !errors.Is(err, perfevent.ErrNotSupported) || !strings.Contains(err.Error(), `"counter"`) {
		t.Errorf("%v, %v", r, err)
	}
}
