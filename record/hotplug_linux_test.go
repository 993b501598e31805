package record

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
)

// TestHotplug has CPUs come and go in a list.
func TestHotplug(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/online")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	set := func(online string) {
		t.Helper()
		if err := f.Truncate(0); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte(online+"\n"), 0); err != nil {
			t.Fatal(err)
		}
	}
	type step struct {
		online string
		came   []int
		notes  int
	}
	for name, tt := range map[string]struct {
		h     hotplug
		steps []step
		moved bool // some CPU has come
	}{
		"machine":         {hotplug{cpus: []int{0, 1}, live: []int{0, 1}}, []step{{"0-1", nil, 0}, {"0-1", nil, 0}, {"0", nil, 1}, {"0-2", []int{1, 2}, 0}}, true},
		"came meanwhile":  {hotplug{cpus: []int{0}, live: []int{0}}, []step{{"0-1", []int{1}, 0}}, true},
		"one of them":     {hotplug{cpus: []int{1}, live: []int{1}, wanted: []int{1}}, []step{{"0-2", nil, 0}, {"0", nil, 1}, {"0-3", []int{1}, 0}}, true},
		"tasks":           {hotplug{cpus: []int{0, 1}, live: []int{0, 1}, tasks: true}, []step{{"0", nil, 0}, {"0-1", nil, 0}, {"0-2", nil, 1}}, true},
		"tasks, again":    {hotplug{cpus: []int{0, 1}, live: []int{0, 1}, tasks: true, again: true}, []step{{"0", nil, 0}, {"0-1", []int{1}, 0}, {"0-2", nil, 1}}, true},
		"tasks, one goes": {hotplug{cpus: []int{0, 1}, live: []int{0, 1}, tasks: true}, []step{{"0-1", nil, 0}, {"0", nil, 0}}, false},
	} {
		h := tt.h
		h.f, h.buf = f, make([]byte, 4096)
		for _, s := range tt.steps {
			h.notes = nil
			set(s.online)
			came, err := h.look()
			if err != nil || !cmp.Equal(came, s.came) || len(h.notes) != s.notes {
				t.Errorf("%s: %s: %v came, %v, %q; want %v and %d notes", name, s.online, came, err, h.notes, s.came, s.notes)
			}
		}
		if h.came != tt.moved {
			t.Errorf("%s: CPUs have come: %v", name, h.came)
		}
		if n := testing.AllocsPerRun(100, func() { _, _ = h.look() }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	var h hotplug
	for range 3 * maxHotplugNotes {
		h.note("%d", 1)
	}
	if got := h.reports(); len(got) != maxHotplugNotes+1 {
		t.Errorf("%q", got)
	}
}

// TestHotplugTooEarly: a CPU is in the list before the kernel opens counters on it. It is tried
// again as long as it is there, for two seconds; what else fails is told at once.
func TestHotplugTooEarly(t *testing.T) {
	name := t.TempDir() + "/online"
	list := func(online string) { livetest.WriteFile(t, name, []byte(online+"\n")) }
	list("0-1")
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	early, refused := fmt.Errorf("open: %w", unix.ENODEV), fmt.Errorf("open: %w", unix.EACCES)
	h := hotplug{f: f, buf: make([]byte, 4096), cpus: []int{0, 1}, live: []int{0}, tries: map[int]int{}}
	// fails looks n times, and returns at how many of these looks CPU 1 came, and counters could
	// not be opened.
	fails := func(n int, err error) (came int) {
		for range n {
			cpus, lerr := h.look()
			if lerr != nil {
				t.Fatal(lerr)
			}
			if slices.Contains(cpus, 1) {
				came++
				h.failed(1, err)
			}
		}
		return came
	}
	if n := fails(40, early); n != 40 || len(h.notes) != 0 {
		t.Errorf("too early: came at %d looks of 40, %q", n, h.notes)
	}
	list("0") // and it begins anew
	if n := fails(1, early); n != 0 || len(h.notes) != 0 {
		t.Errorf("gone: came at %d looks, %q", n, h.notes)
	}
	list("0-1")
	if n := fails(100, early); n != 41 || len(h.notes) != 1 {
		t.Errorf("never: came at %d looks, %q", n, h.notes)
	}
	list("0")
	if n := fails(1, early); n != 0 || len(h.notes) != 1 {
		t.Errorf("gone without having been recorded: %q", h.notes)
	}
	list("0-1")
	if n := fails(3, refused); n != 1 || len(h.notes) != 2 {
		t.Errorf("not permitted: came at %d looks, %q", n, h.notes)
	}
}

// TestRename: an id is replaced where a record has one, and nowhere else.
func TestRename(t *testing.T) {
	const id, known, other = 7001, 12, 13
	record := func(typ abi.RecordType, words ...uint64) []byte {
		b := abi.Header{Type: typ, Size: uint16(abi.HeaderSize + 8*len(words))}.AppendTo(nil, abi.LittleEndian)
		for _, w := range words {
			b = abi.LittleEndian.AppendUint64(b, w)
		}
		return b
	}
	all := func(id uint64) []byte {
		return bytes.Join([][]byte{
			record(abi.RecordSample, id, 7001, 7001), // what follows is an address, say
			record(abi.RecordSample, other, 7001),
			record(abi.RecordLost, id, 7001, id),
			record(abi.RecordThrottle, 7001, id, id, 7001, id),
			record(abi.RecordUnthrottle, 7001, id, id, 7001, id),
			record(abi.RecordComm, 7001, 7001, id),
			record(abi.RecordExit, 7001, 7001, 7001, other),
		}, nil)
	}
	attr := abi.Attr{SampleType: abi.SampleIdentifier, Flags: abi.FlagSampleIDAll}
	layout := abi.NewLayout(&attr, abi.LittleEndian)
	in := all(id)
	for cut := 0; cut <= len(in); cut += 8 {
		got := rename(nil, in[:cut], in[cut:], map[uint64]uint64{id: known}, &layout)
		if d := cmp.Diff(all(known), got); d != "" {
			t.Fatalf("cut at %d: -want +got\n%s", cut, d)
		}
	}
	if !bytes.Equal(in, all(id)) {
		t.Error("what it was given was changed: it is the kernel's")
	}
	// Sizes that cannot be.
	bad := record(abi.RecordSample, id)
	bad[6] = 200
	if got := rename(nil, bad, nil, map[uint64]uint64{id: known}, &layout); !bytes.Equal(got, bad) {
		t.Errorf("%x", got)
	}
}
