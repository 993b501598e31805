package record

import (
	"strings"
	"testing"

	"kprof/perfevent/abi"
)

// TestDropped: a process that ends between its exec and its first map has had its counters taken,
// whichever order the rings have these records in.
func TestDropped(t *testing.T) {
	const o = abi.LittleEndian
	attr := abi.Attr{SampleType: abi.SampleTime, Flags: abi.FlagSampleIDAll}
	record := func(typ abi.RecordType, misc abi.Misc, pid, tid uint32, time uint64) []byte {
		b := o.AppendUint32(o.AppendUint32(nil, pid), tid)
		switch typ {
		case abi.RecordComm:
			b = append(b, "su\x00\x00\x00\x00\x00\x00"...)
		case abi.RecordMmap2:
			b = append(b, make([]byte, 56+8)...)
		default: // pid, ppid, tid, ptid, time
			b = o.AppendUint32(o.AppendUint32(o.AppendUint32(o.AppendUint32(nil, pid), 1), tid), 1)
			b = o.AppendUint64(b, time)
		}
		b = o.AppendUint64(b, time)
		return append(abi.Header{Type: typ, Misc: misc, Size: uint16(abi.HeaderSize + len(b))}.AppendTo(nil, o), b...)
	}
	comm := func(time uint64) []byte { return record(abi.RecordComm, abi.MiscCommExec, 7, 7, time) }
	mapped := func(time uint64) []byte { return record(abi.RecordMmap2, 0, 7, 7, time) }
	exit := func(tid uint32, time uint64) []byte { return record(abi.RecordExit, 0, 7, tid, time) }
	for name, test := range map[string]struct {
		records [][]byte
		want    bool
	}{
		"setuid":              {[][]byte{comm(10), exit(7, 11)}, true},
		"setuid later":        {[][]byte{comm(10), mapped(11), comm(20), exit(7, 21)}, true},
		"setuid, exit first":  {[][]byte{exit(7, 11), comm(10)}, false}, // it may be of who had the number before
		"program":             {[][]byte{comm(10), mapped(11), exit(7, 12)}, false},
		"map in another ring": {[][]byte{mapped(11), comm(10), exit(7, 12)}, false},
		"map read last":       {[][]byte{comm(10), exit(7, 12), mapped(11)}, false},
		"exit of a thread":    {[][]byte{comm(10), exit(8, 11), mapped(12), exit(7, 13)}, false},
		"a name":              {[][]byte{record(abi.RecordComm, 0, 7, 7, 10), exit(7, 11)}, false},
		"goes on":             {[][]byte{comm(10)}, false},
		"cut":                 {[][]byte{comm(10)[:16], exit(7, 11)[:24]}, false},
	} {
		d := &dropped{layout: abi.NewLayout(&attr, o), tasks: map[uint32]*execed{}}
		for _, rec := range test.records {
			d.take(rec)
		}
		got := d.note(nil)
		if strings.HasPrefix(got, "a process was not recorded from an exec on (su): ") != test.want || (got == "") == test.want {
			t.Errorf("%s: %q", name, got)
		}
		if got := d.note([]int{7}); got != "" {
			t.Errorf("%s: said twice: %q", name, got)
		}
	}
}
