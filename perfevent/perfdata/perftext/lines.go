package perftext

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// Names of bits, lowest first, as in include/uapi/linux/perf_event.h.
var (
	sampleNames = strings.Fields("ip tid time addr read callchain id cpu period stream_id raw branch_stack")
	readNames   = strings.Fields("enabled running id group lost")
	flagNames   = strings.Fields(`disabled inherit pinned exclusive exclude_user exclude_kernel exclude_hv
		exclude_idle mmap comm freq inherit_stat enable_on_exec task watermark precise0 precise1 mmap_data
		sample_id_all exclude_host exclude_guest exclude_callchain_kernel exclude_callchain_user mmap2
		comm_exec use_clockid context_switch write_backward namespaces ksymbol bpf_event aux_output cgroup
		text_poke build_id inherit_thread remove_on_exec sigtrap defer_callchain defer_output`)
	typeNames  = strings.Fields("hardware software tracepoint hw_cache raw breakpoint")
	modeNames  = strings.Fields("none kernel user hypervisor guest_kernel guest_user")
	branches   = map[string]abi.BranchSampleType{"call_stack": abi.BranchCallStack, "hw_index": abi.BranchHWIndex, "counters": abi.BranchCounters}
	sampleMore = map[string]abi.SampleType{"identifier": abi.SampleIdentifier}
	contexts   = map[string]uint64{
		"hv": abi.ContextHV, "kernel": abi.ContextKernel, "user": abi.ContextUser,
		"user_deferred": abi.ContextUserDeferred, "guest": abi.ContextGuest,
		"guest_kernel": abi.ContextGuestKernel, "guest_user": abi.ContextGuestUser,
	}
	contextModes = map[uint64]abi.Misc{
		abi.ContextHV: abi.MiscHypervisor, abi.ContextKernel: abi.MiscKernel, abi.ContextUser: abi.MiscUser,
		abi.ContextGuestKernel: abi.MiscGuestKernel, abi.ContextGuestUser: abi.MiscGuestUser,
	}
)

// defaultSample are the fields of samples where an event does not say.
const defaultSample = "identifier,ip,tid,time,cpu,period,callchain"

func (r *Recording) line(words []string) error {
	f := newFields(words[1:])
	switch words[0] {
	case "event":
		return r.event(words[1:])
	case "buildid":
		return r.buildID(f)
	case "truncate":
		if len(words) != 2 {
			return errors.New("truncate wants a number")
		}
		r.truncate = int(f.parse(words[1]))
		return f.err
	case "raw":
		b, err := hex.DecodeString(strings.Join(words[1:], ""))
		r.records = append(r.records, record{raw: true, body: func(dst []byte, _ abi.Order) []byte { return append(dst, b...) }})
		return err
	}
	return r.record(words[0], f)
}

// event is an event with its attribute. The name, which may hold a "=", comes
// first.
func (r *Recording) event(words []string) error {
	if len(words) == 0 {
		return errors.New("event without a name")
	}
	f := newFields(words[1:])
	e := abi.Event{Name: words[0]}
	a := &e.Attr
	a.Type = f.typ()
	a.Config = f.num("config", 0)
	a.Config1 = f.num("config1", 0)
	a.Config2 = f.num("config2", 0)
	a.BPType = uint32(f.num("bp_type", 0))
	a.SampleType = f.sampleType()
	a.Flags = abi.Flags(f.names("flags", "sample_id_all", flagNames))
	a.ReadFormat = abi.ReadFormat(f.names("read", "", readNames))
	for _, name := range strings.Split(f.str("branch", ""), ",") {
		if a.BranchSampleType |= branches[name]; name != "" && branches[name] == 0 {
			f.fail("branch=%s", name)
		}
	}
	a.SamplePeriod = f.num("period", 1)
	if f.has("freq") {
		a.SamplePeriod = f.num("freq", 0)
		a.Flags |= abi.FlagFreq
	}
	for _, id := range strings.Split(f.str("ids", ""), ",") {
		if id != "" {
			e.IDs = append(e.IDs, f.parse(id))
		}
	}
	size := int(f.num("size", 0))
	if f.err == nil && (size < 0 || size > 4096) {
		f.fail("attribute of %d bytes", size)
	}
	r.Events = append(r.Events, e)
	r.attrSizes = append(r.attrSizes, size)
	return f.done()
}

func (f *fields) typ() abi.Type {
	v := f.str("type", "software")
	for i, n := range typeNames {
		if n == v {
			return abi.Type(i)
		}
	}
	return abi.Type(f.parse(v))
}

func (f *fields) sampleType() (t abi.SampleType) {
	for _, name := range strings.Split(f.str("sample", defaultSample), ",") {
		if bit, ok := sampleMore[name]; ok {
			t |= bit
		} else if name != "" {
			t |= abi.SampleType(f.bit("sample", name, sampleNames))
		}
	}
	return t
}

// mode takes the CPU mode of a record out of misc=, or a number for all of misc.
func (f *fields) mode(def abi.Misc) abi.Misc {
	v := f.str("misc", "")
	if v == "" {
		return def
	}
	for i, n := range modeNames {
		if n == v {
			return abi.Misc(i)
		}
	}
	return abi.Misc(f.parse(v))
}

func (r *Recording) buildID(f *fields) error {
	b := perfdata.BuildID{ID: f.hex("id"), Name: f.str("file", ""), PID: int32(f.num("pid", 1<<64-1)), Misc: f.mode(abi.MiscUser)}
	r.BuildIDs = append(r.BuildIDs, b)
	return f.done()
}

// record is a record of any type.
func (r *Recording) record(word string, f *fields) error {
	rec := record{size: -1, kernel: true}
	if f.has("size") {
		rec.size = int(uint16(f.num("size", 0)))
	}
	pid := int32(f.num("pid", 0))
	rec.id = abi.SampleIDFields{
		PID: pid, TID: int32(f.num("tid", uint64(pid))), Time: f.num("t", 0),
		CPU: int32(f.num("cpu", 0)), StreamID: f.num("stream_id", 0),
	}
	if err := r.findEvent(&rec, f); err != nil {
		return err
	}
	switch word {
	case "round":
		rec.typ, rec.kernel = abi.RecordFinishedRound, false
		rec.body = func(b []byte, _ abi.Order) []byte { return b }
	case "thread_map":
		var pids []int64
		for pid := range strings.SplitSeq(f.str("pids", "-1"), ",") {
			n, err := strconv.ParseInt(pid, 10, 64)
			if err != nil {
				return err
			}
			pids = append(pids, n)
		}
		rec.typ, rec.kernel = abi.RecordThreadMap, false
		rec.body = func(b []byte, o abi.Order) []byte {
			b = o.AppendUint64(b, uint64(len(pids)))
			for _, pid := range pids {
				b = append(o.AppendUint64(b, uint64(pid)), make([]byte, 16)...) // comm
			}
			return b
		}
	case "record":
		data := f.hex("data")
		rec.typ, rec.misc, rec.kernel = abi.RecordType(f.num("type", 0)), f.mode(0), false
		rec.body = func(b []byte, _ abi.Order) []byte { return append(b, data...) }
	case "sample":
		if len(r.Events) == 0 {
			return errors.New("sample before any event")
		}
		r.sample(&rec, f)
	case "mmap", "mmap2":
		rec.mmap(word, f)
	case "comm", "fork", "exit":
		rec.task(word, f)
	case "callchain_deferred":
		rec.deferred(f)
	case "switch":
		rec.typ, rec.misc = abi.RecordSwitch, f.mode(0)
		if f.flag("out") {
			rec.misc |= abi.MiscSwitchOut
		}
		if f.flag("preempt") {
			rec.misc |= abi.MiscSwitchPreempt
		}
		rec.body = func(b []byte, _ abi.Order) []byte { return b }
	case "ksymbol", "lost", "lost_samples", "throttle", "unthrottle":
		rec.other(word, f)
	default:
		return fmt.Errorf("unknown record %q", word)
	}
	r.records = append(r.records, rec)
	return f.done()
}

// findEvent takes the id of a record and finds the event whose layout it has.
func (r *Recording) findEvent(rec *record, f *fields) error {
	if len(r.Events) > 0 && len(r.Events[0].IDs) > 0 {
		rec.id.ID = r.Events[0].IDs[0]
	}
	rec.id.ID = f.num("id", rec.id.ID)
	for i, e := range r.Events {
		for _, id := range e.IDs {
			if id == rec.id.ID {
				rec.event = i
				return nil
			}
		}
	}
	return nil
}

func (rec *record) mmap(word string, f *fields) {
	pid, tid := rec.id.PID, rec.id.TID
	addr, length, off := f.num("addr", 0), f.num("len", 0), f.num("off", 0)
	file := f.str("file", "")
	def := abi.MiscUser
	if pid == -1 {
		def = abi.MiscKernel
	}
	rec.typ, rec.misc = abi.RecordMmap, f.mode(def)
	var id []byte
	var maj, minor, prot, flags uint32
	var ino, gen uint64
	if word == "mmap2" {
		rec.typ = abi.RecordMmap2
		if f.has("buildid") {
			id = f.hex("buildid")
			rec.misc |= abi.MiscMmapBuildID
		}
		maj, minor = uint32(f.num("maj", 0)), uint32(f.num("min", 0))
		ino, gen = f.num("ino", 0), f.num("gen", 0)
		prot = uint32(f.num("prot", 5))   // PROT_READ|PROT_EXEC
		flags = uint32(f.num("flags", 2)) // MAP_PRIVATE
	}
	rec.body = func(b []byte, o abi.Order) []byte {
		b = o.AppendUint32(b, uint32(pid))
		b = o.AppendUint32(b, uint32(tid))
		b = o.AppendUint64(b, addr)
		b = o.AppendUint64(b, length)
		b = o.AppendUint64(b, off)
		switch {
		case word == "mmap":
			return appendString(b, file)
		case id != nil:
			var field [24]byte
			field[0] = byte(copy(field[4:], id))
			b = append(b, field[:]...)
		default:
			b = o.AppendUint32(b, maj)
			b = o.AppendUint32(b, minor)
			b = o.AppendUint64(b, ino)
			b = o.AppendUint64(b, gen)
		}
		b = o.AppendUint32(b, prot)
		b = o.AppendUint32(b, flags)
		return appendString(b, file)
	}
}

func (rec *record) task(word string, f *fields) {
	id := rec.id
	if word == "comm" {
		comm := f.str("comm", "")
		rec.typ, rec.misc = abi.RecordComm, f.mode(0)
		if f.flag("exec") {
			rec.misc |= abi.MiscCommExec
		}
		rec.body = func(b []byte, o abi.Order) []byte {
			b = o.AppendUint32(b, uint32(id.PID))
			b = o.AppendUint32(b, uint32(id.TID))
			return appendString(b, comm)
		}
		return
	}
	rec.typ = abi.RecordFork
	if word == "exit" {
		rec.typ = abi.RecordExit
	}
	rec.misc = f.mode(0)
	if f.flag("synthesized") {
		rec.misc |= abi.MiscForkExec
	}
	ppid := f.num("ppid", uint64(id.PID))
	ptid := f.num("ptid", ppid)
	rec.body = func(b []byte, o abi.Order) []byte {
		for _, n := range []uint32{uint32(id.PID), uint32(ppid), uint32(id.TID), uint32(ptid)} {
			b = o.AppendUint32(b, n)
		}
		return o.AppendUint64(b, id.Time)
	}
}

func (rec *record) other(word string, f *fields) {
	id := rec.id
	rec.misc = f.mode(0)
	switch word {
	case "ksymbol":
		rec.typ = abi.RecordKsymbol
		addr, length, name := f.num("addr", 0), uint32(f.num("len", 0)), f.str("name", "")
		var flags uint16
		if f.flag("unregister") {
			flags = 1
		}
		rec.body = func(b []byte, o abi.Order) []byte {
			b = o.AppendUint64(b, addr)
			b = o.AppendUint32(b, length)
			b = o.AppendUint16(b, abi.KsymbolBPF)
			b = o.AppendUint16(b, flags)
			return appendString(b, name)
		}
	case "lost", "lost_samples":
		count := f.num("count", 0)
		rec.typ = abi.RecordLostSamples
		if word == "lost" {
			rec.typ = abi.RecordLost
		}
		rec.body = func(b []byte, o abi.Order) []byte {
			if word == "lost" {
				b = o.AppendUint64(b, id.ID)
			}
			return o.AppendUint64(b, count)
		}
	default:
		rec.typ = abi.RecordThrottle
		if word == "unthrottle" {
			rec.typ = abi.RecordUnthrottle
		}
		rec.body = func(b []byte, o abi.Order) []byte {
			b = o.AppendUint64(b, id.Time)
			b = o.AppendUint64(b, id.ID)
			return o.AppendUint64(b, id.StreamID)
		}
	}
}
