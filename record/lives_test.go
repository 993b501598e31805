package record

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"kprof/perfevent/abi"
)

// sidebandAttr is one whose records end with the sample id of the side-band.
var sidebandAttr = abi.Attr{
	Flags:      abi.FlagSampleIDAll,
	SampleType: abi.SampleIdentifier | abi.SampleIP | abi.SampleTID | abi.SampleTime | abi.SampleCPU,
}

// forked is the FORK record of a thread, and exited its EXIT record: pid, ppid, tid, ptid, time.
func forked(t uint64, pid, tid, ppid, ptid uint64) []byte {
	return record(abi.RecordFork, pid|ppid<<32, tid|ptid<<32, t, 0, t, 0, 9)
}

func exited(t uint64, pid, tid uint64) []byte {
	return record(abi.RecordExit, pid|1<<32, tid|1<<32, t, 0, t, 0, 9)
}

// named is a COMM record: pid, tid, a name of 8 bytes.
func named(t uint64, pid, tid uint64, misc abi.Misc) []byte {
	b := record(abi.RecordComm, pid|tid<<32, 0x61, 0, t, 0, 9)
	binary.LittleEndian.PutUint16(b[4:], uint16(misc))
	return b
}

// TestLives: which thread is recorded when, whatever the order in which a round has its records, and
// if they are taken twice.
func TestLives(t *testing.T) {
	type at struct {
		tid  uint32
		time uint64
		is   bool
	}
	for _, tt := range []struct {
		name      string
		processes map[int]int
		awaitExec bool
		records   [][]byte
		want      []at
	}{
		{"from the start", map[int]int{10: 10, 11: 10}, false, nil, []at{{10, 0, true}, {11, 5, true}, {12, 5, false}}},
		{"a child", map[int]int{10: 10}, false, [][]byte{forked(20, 30, 30, 10, 10), exited(40, 30, 30)},
			[]at{{30, 19, false}, {30, 20, true}, {30, 40, true}, {30, 41, false}, {10, 50, true}}},
		{"a thread", map[int]int{10: 10}, false, [][]byte{forked(20, 10, 30, 10, 10), exited(40, 10, 30)},
			[]at{{30, 19, false}, {30, 30, true}, {30, 41, false}, {10, 50, true}}},
		{"a number used again", map[int]int{10: 10}, false, [][]byte{forked(20, 30, 30, 10, 10), exited(40, 30, 30), forked(60, 30, 30, 10, 10), exited(80, 30, 30)},
			[]at{{30, 30, true}, {30, 50, false}, {30, 70, true}, {30, 81, false}}},
		{"one from the start, used again", map[int]int{10: 10, 30: 30}, false, [][]byte{exited(40, 30, 30), forked(60, 30, 30, 10, 10)},
			[]at{{30, 30, true}, {30, 50, false}, {30, 70, true}}},
		{"told twice, as of a parent that has the side-band twice", map[int]int{10: 10}, false,
			[][]byte{forked(20, 30, 30, 10, 10), forked(21, 30, 30, 10, 10), exited(40, 30, 30), exited(41, 30, 30)},
			[]at{{30, 19, false}, {30, 20, true}, {30, 39, true}, {30, 42, false}}},
		// fs/exec.c, de_thread: all others end, and it has the number of the first from then on.
		{"exec by a thread that is not the first", map[int]int{10: 10}, false,
			[][]byte{forked(20, 10, 31, 10, 10), forked(21, 10, 32, 10, 10), exited(40, 10, 31), exited(41, 10, 10), named(42, 10, 10, abi.MiscCommExec)},
			[]at{{32, 41, true}, {32, 43, false}, {31, 43, false}, {10, 43, true}, {10, 100, true}}},
		{"exec of a process alone", map[int]int{10: 10}, false, [][]byte{named(42, 10, 10, abi.MiscCommExec)}, []at{{10, 41, true}, {10, 43, true}}},
		{"a name says nothing", map[int]int{10: 10}, false, [][]byte{named(42, 77, 77, 0)}, []at{{77, 43, false}}},
		{"a command from its exec on", map[int]int{10: 10, 11: 10}, true,
			[][]byte{forked(20, 10, 12, 10, 11), exited(39, 10, 12), named(42, 10, 10, abi.MiscCommExec), forked(50, 30, 30, 10, 10)},
			[]at{{10, 41, false}, {10, 42, true}, {11, 43, false}, {12, 30, false}, {30, 51, true}}},
	} {
		layout := abi.NewLayout(&sidebandAttr, abi.LittleEndian)
		random := rand.New(rand.NewPCG(1, 2))
		for range 20 {
			l := newLives(tt.processes, tt.awaitExec)
			for range 2 {
				for _, i := range random.Perm(len(tt.records)) {
					l.take(tt.records[i], &layout)
				}
				l.settle()
			}
			for _, w := range tt.want {
				if is := l.at(w.tid, w.time) != nil; is != w.is {
					t.Errorf("%s: %d at %d is recorded: %v", tt.name, w.tid, w.time, is)
				}
			}
		}
	}
}

// TestLivesAcrossRounds: a later record may be there a round before an earlier one, and what has ended
// is forgotten.
func TestLivesAcrossRounds(t *testing.T) {
	layout := abi.NewLayout(&sidebandAttr, abi.LittleEndian)
	l := newLives(map[int]int{10: 10}, false)
	round := func(records ...[]byte) {
		l.turn()
		for _, rec := range records {
			l.take(rec, &layout)
		}
		l.settle()
	}
	round(forked(20, 30, 30, 10, 10))
	round(forked(60, 30, 30, 10, 10)) // the EXIT before it is in a ring that was looked at earlier
	round(forked(60, 30, 30, 10, 10), exited(40, 30, 30))
	for time, want := range map[uint64]bool{30: true, 50: false, 70: true} {
		if is := l.at(30, time) != nil; is != want {
			t.Errorf("at %d: %v", time, is)
		}
	}
	for tid := range uint64(1000) {
		round(forked(100, 100+tid, 100+tid, 10, 10), exited(101, 100+tid, 100+tid))
		if l.at(uint32(100+tid), 100) == nil {
			t.Fatalf("%d is forgotten in the round in which it ends", 100+tid)
		}
	}
	if len(l.of) > 10 {
		t.Errorf("%d threads are known after they have ended", len(l.of))
	}
}
