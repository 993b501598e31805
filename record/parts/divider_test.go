package parts_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"kprof/convert/replay"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
	"kprof/record/parts"
)

const (
	o         = abi.LittleEndian
	sampling  = 7 // ids of counters
	triggerID = 8
	sideband  = 9
)

const base = abi.SampleIdentifier | abi.SampleIP | abi.SampleTID | abi.SampleTime

func events() []abi.Event {
	attr := abi.Attr{Type: abi.TypeSoftware, SamplePeriod: 1, SampleType: base, Flags: abi.FlagSampleIDAll}
	side := attr
	side.Flags |= abi.FlagTask | abi.FlagComm | abi.FlagMmap | abi.FlagMmap2
	return []abi.Event{
		{Name: "e", Attr: attr, IDs: []uint64{sampling}},
		{Name: "trigger", Attr: attr, IDs: []uint64{triggerID}},
		{Name: "dummy:HG", Attr: side, IDs: []uint64{sideband}},
	}
}

// maker makes records.
type maker struct{ layout abi.Layout }

func newMaker() maker {
	return maker{abi.NewLayout(&events()[2].Attr, o)}
}

func record(typ abi.RecordType, misc abi.Misc, body []byte) []byte {
	return append(abi.Header{Type: typ, Misc: misc, Size: uint16(abi.HeaderSize + len(body))}.AppendTo(nil, o), body...)
}

func ints(v ...int32) (b []byte) {
	for _, x := range v {
		b = o.AppendUint32(b, uint32(x))
	}
	return b
}

func longs(v ...uint64) (b []byte) {
	for _, x := range v {
		b = o.AppendUint64(b, x)
	}
	return b
}

func text(s string) []byte {
	return append([]byte(s), make([]byte, 8-len(s)%8)...)
}

func (m maker) side(typ abi.RecordType, misc abi.Misc, time uint64, pid, tid int32, body ...[]byte) []byte {
	return record(typ, misc, m.layout.AppendTrailer(slices.Concat(body...), abi.SampleIDFields{PID: pid, TID: tid, Time: time, ID: sideband}))
}

func (m maker) fork(time uint64, pid, ppid, tid, ptid int32) []byte {
	return m.side(abi.RecordFork, 0, time, ppid, ptid, ints(pid, ppid, tid, ptid), longs(time))
}

func (m maker) exit(time uint64, pid, tid int32) []byte {
	return m.side(abi.RecordExit, 0, time, pid, tid, ints(pid, 1, tid, 1), longs(time))
}

func (m maker) comm(time uint64, pid, tid int32, name string, exec bool) []byte {
	misc := abi.Misc(0)
	if exec {
		misc = abi.MiscCommExec
	}
	return m.side(abi.RecordComm, misc, time, pid, tid, ints(pid, tid), text(name))
}

func (m maker) mmap(time uint64, pid int32, start, size, off uint64, file string) []byte {
	return m.side(abi.RecordMmap2, abi.MiscUser, time, pid, pid, ints(pid, pid), longs(start, size, off, 0, 0, 0, 0), text(file))
}

func (m maker) sample(id, time uint64, pid, tid int32, ip uint64) []byte {
	return record(abi.RecordSample, abi.MiscUser, slices.Concat(longs(id, ip), ints(pid, tid), longs(time)))
}

// machine makes up what runs: processes that fork, exec, map and end on some CPUs, each
// with a ring of its own. All it takes to be hard is in it: records of a process lie in
// several rings, in which later ones may come first, and tasks are sampled past their end.
type machine struct {
	maker
	rand  *rand.Rand
	now   uint64
	rings [3][]byte
	next  int32
	pids  []int32
	gone  []int32 // sampled once more
	dead  []int32 // whose numbers are used again later
}

func (m *machine) write(rec []byte) {
	i := m.rand.IntN(len(m.rings))
	m.rings[i] = append(m.rings[i], rec...)
	m.now += 1000
}

func (m *machine) file() string { return fmt.Sprintf("/lib/%d", m.rand.IntN(50)) }

func (m *machine) place() (start, size uint64) {
	return uint64(1+m.rand.IntN(40)) << 12, uint64(1+m.rand.IntN(6)) << 12
}

// act does one thing.
func (m *machine) act() {
	pid := m.pids[m.rand.IntN(len(m.pids))]
	switch n := m.rand.IntN(100); {
	case n < 60:
		m.write(m.sample(sampling, m.now, pid, pid, uint64(m.rand.IntN(46<<12))))
	case n < 75:
		start, size := m.place()
		m.write(m.mmap(m.now, pid, start, size, uint64(m.rand.IntN(9))<<12, m.file()))
	case n < 85 && len(m.pids) < 40:
		child := m.next + 1
		if len(m.dead) > 30 && n%2 == 0 {
			child, m.dead = m.dead[0], m.dead[1:]
		} else {
			m.next++
		}
		m.write(m.fork(m.now, child, pid, child, pid))
		m.pids = append(m.pids, child)
	case n < 90:
		m.write(m.comm(m.now, pid, pid, fmt.Sprintf("run%d", m.rand.IntN(30)), true))
	case n < 93:
		m.write(m.comm(m.now, pid, pid, fmt.Sprintf("name%d", m.rand.IntN(30)), false))
	case n < 96:
		m.next++ // a thread, which is sampled, and ends
		m.write(m.fork(m.now, pid, pid, m.next, pid))
		m.write(m.sample(sampling, m.now, pid, m.next, uint64(m.rand.IntN(46<<12))))
		m.write(m.exit(m.now, pid, m.next))
	case len(m.pids) > 5:
		m.pids = slices.DeleteFunc(m.pids, func(p int32) bool { return p == pid })
		m.write(m.exit(m.now, pid, pid))
		m.gone, m.dead = append(m.gone, pid), append(m.dead, pid)
	}
	for _, pid := range m.gone {
		m.write(m.sample(sampling, m.now, pid, pid, uint64(m.rand.IntN(46<<12))))
	}
	m.gone = m.gone[:0]
}

// files keeps the parts of a Divider as files, and one whole.
type files struct {
	t     *testing.T
	dir   string
	mu    sync.Mutex
	names []string
	about []parts.About
}

type file struct {
	*perfdata.Writer
	f  *os.File
	to *files
}

func (fs *files) open() (*file, error) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f, err := os.Create(filepath.Join(fs.dir, strconv.Itoa(len(fs.names))))
	if err != nil {
		return nil, err
	}
	fs.names = append(fs.names, f.Name())
	w, err := perfdata.NewWriter(f, events(), perfdata.Features{}, perfdata.WriterOptions{})
	return &file{w, f, fs}, err
}

func (f *file) Finish(about parts.About) error {
	f.to.mu.Lock()
	defer f.to.mu.Unlock()
	f.to.about = append(f.to.about, about)
	return errors.Join(f.Close(perfdata.Features{}), f.f.Close())
}

// count adds up what the samples of a file are of: command, process, file and offset.
func count(t *testing.T, name string, sum map[string]int64) (samples int64) {
	t.Helper()
	r := perftext.Open(t, name)
	set, _, err := replay.File(context.Background(), r, replay.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range set.NumSamples() {
		row := set.Sample(i)
		comm, _ := set.Label(row.Labels, "comm")
		pid, _ := set.Label(row.Labels, "pid")
		key := fmt.Sprint(comm.Str, " ", pid.Num, " ")
		switch l := set.Locations[set.Stack(row.Stack)[0]]; {
		case l.Mapping < 0:
			key += fmt.Sprintf("%#x", l.Addr)
		default:
			m := set.Mappings[l.Mapping]
			key += fmt.Sprintf("%s+%#x", m.File, l.Addr-m.Start+m.Offset)
		}
		for v := 0; v < len(row.Values); v += 2 { // and periods
			sum[key] += row.Values[v]
			samples += row.Values[v]
		}
	}
	return samples
}

// TestWhole: samples have in the parts the names and places that they have in the whole,
// and each is in one part, whatever ends a part; in a window, the last of them.
func TestWhole(t *testing.T) {
	const rounds = 200
	for _, x := range []struct {
		name    string
		o       parts.Options
		every   int  // rounds after which another part is asked for
		trigger bool // by a sample
		all     bool // samples are in parts
	}{
		{name: "size", o: parts.Options{Size: 30 << 10}, all: true},
		{name: "asked", every: 7, all: true},
		{name: "each round", every: 1, all: true},
		{name: "trigger", o: parts.Options{Triggers: []uint64{triggerID}}, every: 13, trigger: true, all: true},
		{name: "window", o: parts.Options{Window: parts.AllTime}, every: 30, all: true},
		{name: "small window", o: parts.Options{Window: parts.AllTime, Bytes: 20 << 10}, every: 50},
		{name: "window, trigger", o: parts.Options{Window: time.Hour, Triggers: []uint64{triggerID}}, every: 10, trigger: true, all: true},
	} {
		t.Run(x.name, func(t *testing.T) {
			whole, divided := files{t: t, dir: t.TempDir()}, files{t: t, dir: t.TempDir()}
			all, err := whole.open()
			if err != nil {
				t.Fatal(err)
			}
			x.o.Open = func() (parts.Part, error) { return divided.open() }
			d := parts.NewDivider(&events()[2], x.o)
			m := machine{maker: newMaker(), rand: rand.New(rand.NewPCG(1, 2)), now: 1e9, next: 100, pids: []int32{100}}
			m.write(m.comm(0, 100, 100, "init", false))
			left := 0 // of the last ring from the round before
			for n := range rounds {
				for range 40 {
					m.act()
				}
				if x.trigger && n%x.every == 0 {
					m.write(m.sample(triggerID, m.now, 100, 100, 0x1000))
				}
				for i := range m.rings {
					rec := m.rings[i]
					if i == len(m.rings)-1 && n < rounds-1 { // is drained early: the rest comes a round later
						half := left
						for half < (left+len(rec))/2 {
							half += int(o.Uint16(rec[half+6:]))
						}
						left, rec = len(rec)-half, rec[:half]
					}
					cut := m.rand.IntN(len(rec) + 1) // where the ring wraps
					if err := errors.Join(all.Write(rec[:cut], rec[cut:]), d.Write(rec[:cut], rec[cut:])); err != nil {
						t.Fatal(err)
					}
					m.rings[i] = slices.Clone(m.rings[i][len(rec):])
				}
				if !x.trigger && x.every > 0 && n%x.every == 0 {
					d.Switch()
				}
				if err := errors.Join(all.FinishRound(), d.FinishRound()); err != nil {
					t.Fatal(err)
				}
				d.Wait() // so that each window that is asked for is written
			}
			if err := errors.Join(d.Close(), all.Finish(parts.About{})); err != nil {
				t.Fatal(err)
			}
			want, got := map[string]int64{}, map[string]int64{}
			samples := count(t, whole.names[0], want)
			told := uint64(0)
			for i, name := range divided.names {
				n := count(t, name, got)
				told += divided.about[i].Samples
				if uint64(n) != divided.about[i].Samples {
					t.Errorf("part %d has %d samples, and says %d", i, n, divided.about[i].Samples)
				}
				if divided.about[i].Last != (i == len(divided.names)-1) {
					t.Errorf("part %d of %d: %+v", i, len(divided.names), divided.about[i])
				}
			}
			t.Logf("%d of %d samples in %d parts", told, samples, len(divided.names))
			if x.all {
				if !maps.Equal(got, want) {
					t.Errorf("%d of %d samples", told, samples)
				}
			} else if told*3 > uint64(samples) || told*20 < uint64(samples) {
				t.Errorf("%d of %d samples are in the window", told, samples)
			}
			if len(divided.names) < 5 {
				t.Errorf("%d parts", len(divided.names))
			}
			wrong := 0
			for key, n := range got {
				if n > want[key] {
					if wrong++; wrong < 5 {
						t.Errorf("%d samples of %s, want %d", n, key, want[key])
					}
				}
			}
			for key, n := range want {
				if x.all && n > got[key] {
					t.Logf("%d samples of %s are missing", n-got[key], key)
				}
			}
			if wrong > 0 {
				t.Errorf("%d names or places are not those of the whole", wrong)
			}
		})
	}
}

// TestFirst: the first part ends when that is asked for, the others as ever.
func TestFirst(t *testing.T) {
	for first, want := range map[time.Duration]int{0: 1, 1: 2, time.Hour: 1} {
		made := files{t: t, dir: t.TempDir()}
		d := parts.NewDivider(&events()[2], parts.Options{Every: time.Hour, First: first, Open: func() (parts.Part, error) { return made.open() }})
		m := newMaker()
		err := d.Begin()
		for i := range 4 {
			err = errors.Join(err, d.Write(m.sample(sampling, uint64(i), 100, 100, 0x1000), nil), d.FinishRound())
		}
		if err := errors.Join(err, d.Close()); err != nil {
			t.Fatal(err)
		}
		if len(made.names) != want {
			t.Errorf("first after %v: %d parts, want %d", first, len(made.names), want)
		}
	}
}
