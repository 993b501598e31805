package replay

import (
	"fmt"
	"strings"

	"kprof/perfevent/abi"
)

// hostile makes up recordings that nobody records: of one kind of record alone,
// as many as fit, each as unlike the ones before as it can be.
type hostile struct {
	b []byte
	o abi.Order
	l abi.Layout
	t uint64 // of the next record
}

// hostileKind appends record i to a recording.
type hostileKind struct {
	name   string
	append func(h *hostile, i int)
}

func newHostile() *hostile {
	return &hostile{l: abi.NewLayout(&boundAttr, abi.LittleEndian), t: 1 << 40}
}

// record appends a record that ends with a sample id, unless it is a sample.
func (h *hostile) record(typ abi.RecordType, misc abi.Misc, payload func(b []byte) []byte) {
	start := len(h.b)
	h.b = abi.Header{}.AppendTo(h.b, h.o)
	h.b = payload(h.b)
	if typ != abi.RecordSample {
		h.b = h.l.AppendTrailer(h.b, abi.SampleIDFields{PID: 1, TID: 1, Time: h.t})
	}
	abi.Header{Type: typ, Misc: misc, Size: uint16(len(h.b) - start)}.AppendTo(h.b[:start], h.o)
}

func (h *hostile) u32(b []byte, vs ...int) []byte {
	for _, v := range vs {
		b = h.o.AppendUint32(b, uint32(v))
	}
	return b
}

func (h *hostile) u64(b []byte, vs ...uint64) []byte {
	for _, v := range vs {
		b = h.o.AppendUint64(b, v)
	}
	return b
}

func (h *hostile) str(b []byte, s string) []byte {
	b = append(b, s...)
	return append(b, make([]byte, 8-len(s)%8)...)
}

func (h *hostile) fork(pid, tid, ppid, ptid int) {
	h.record(abi.RecordFork, 0, func(b []byte) []byte { return h.u64(h.u32(b, pid, ppid, tid, ptid), h.t) })
}

func (h *hostile) exit(pid int) {
	h.record(abi.RecordExit, 0, func(b []byte) []byte { return h.u64(h.u32(b, pid, 1, pid, 1), h.t) })
}

func (h *hostile) comm(pid, tid int, name string, misc abi.Misc) {
	h.record(abi.RecordComm, misc, func(b []byte) []byte { return h.str(h.u32(b, pid, tid), name) })
}

func (h *hostile) mmap(pid int, addr, size, off uint64, file string, misc abi.Misc) {
	h.record(abi.RecordMmap, misc, func(b []byte) []byte {
		return h.str(h.u64(h.u32(b, pid, pid), addr, size, off), file)
	})
}

func (h *hostile) mmap2(pid int, addr, size, ino uint64, file string) {
	h.record(abi.RecordMmap2, abi.MiscUser, func(b []byte) []byte {
		b = h.u64(h.u32(b, pid, pid), addr, size, 0)
		b = h.u64(h.u32(b, 8, 1), ino, 0)
		return h.str(h.u32(b, 5, 2), file)
	})
}

func (h *hostile) ksymbol(addr uint64, size int, flags uint16, name string) {
	h.record(abi.RecordKsymbol, abi.MiscKernel, func(b []byte) []byte {
		b = h.u32(h.u64(b, addr), size)
		return h.str(h.o.AppendUint16(h.o.AppendUint16(b, 1), flags), name)
	})
}

func (h *hostile) sample(pid, tid int, ip uint64, misc abi.Misc, chain ...uint64) {
	h.record(abi.RecordSample, misc, func(b []byte) []byte {
		b = h.u64(h.u32(h.u64(b, ip), pid, tid), h.t)
		return h.u64(b, append([]uint64{uint64(len(chain))}, chain...)...)
	})
}

// mix makes numbers that look random out of others.
func mix(i int) uint64 {
	x := uint64(i+1) * 0x9e3779b97f4a7c15
	x ^= x >> 29
	x *= 0xbf58476d1ce4e5b9
	return x ^ x>>32
}

// userAddr is an address of user space, on a page that only few others are on.
func userAddr(i int) uint64 { return 0x1000 + mix(i)%(1<<46) }

func pages(n int) uint64 { return uint64(n) * 0x1000 }

// longPath is a path that has 4,000 bytes and no other has.
func longPath(i int) string { return fmt.Sprintf("/%d/", i) + strings.Repeat("x", 4000) }

// hostileKinds are the kinds. Those with samples ask for what the other records
// made.
var hostileKinds = []hostileKind{
	{"fork of one parent", func(h *hostile, i int) { h.fork(100+i, 100+i, 7, 7) }},
	{"fork in a line", func(h *hostile, i int) { h.fork(100+i, 100+i, 99+i, 99+i) }},
	{"fork in a tree", func(h *hostile, i int) { h.fork(100+i, 100+i, 100+i/2, 100+i/2) }},
	{"fork of threads", func(h *hostile, i int) { h.fork(7, 100+i, 7, 99+i) }},
	{"fork of one process", func(h *hostile, i int) { h.fork(8, 8, 7, 7) }},
	{"fork of two processes by each other", func(h *hostile, i int) { h.fork(8+i%2, 8+i%2, 9-i%2, 9-i%2) }},
	{"fork of itself", func(h *hostile, i int) { h.fork(7, 7, 7, 7) }},
	{"fork with negative numbers", func(h *hostile, i int) { h.fork(-i, -i, -i-1, 1<<31-1-i) }},
	{"fork and exit", func(h *hostile, i int) {
		h.fork(100+i, 100+i, 7, 7)
		h.exit(100 + i)
	}},
	{"fork and map", func(h *hostile, i int) {
		h.fork(100+i, 100+i, 7, 7)
		h.mmap(100+i, 0x1000, 0x1000, 0, "/x", abi.MiscUser)
	}},
	{"fork in a line, mapping", func(h *hostile, i int) {
		h.fork(100+i, 100+i, 99+i, 99+i)
		h.mmap(100+i, pages(i), 0x1000, 0, "/x", abi.MiscUser)
	}},
	{"fork in a line, and one of each", func(h *hostile, i int) {
		h.fork(100+i, 100+i, 99+i, 99+i)
		h.fork(1<<30+i, 1<<30+i, 99+i, 99+i)
		h.mmap(100+i, pages(i), 0x1000, 0, "/x", abi.MiscUser)
	}},
	{"exit", func(h *hostile, i int) { h.exit(100 + i) }},

	{"names of one thread", func(h *hostile, i int) { h.comm(7, 7, fmt.Sprint("n", i), 0) }},
	{"names of threads", func(h *hostile, i int) { h.comm(7, 100+i, fmt.Sprint("n", i), 0) }},
	{"names of processes", func(h *hostile, i int) { h.comm(100+i, 100+i, fmt.Sprint("n", i), 0) }},
	{"one name of processes", func(h *hostile, i int) { h.comm(100+i, 100+i, "x", 0) }},
	{"long names", func(h *hostile, i int) { h.comm(7, 7, longPath(i), 0) }},
	{"exec of one process", func(h *hostile, i int) { h.comm(7, 7, "x", abi.MiscCommExec) }},
	{"exec of processes", func(h *hostile, i int) { h.comm(100+i, 100+i, "x", abi.MiscCommExec) }},
	{"exec and map", func(h *hostile, i int) {
		h.comm(7, 7, "x", abi.MiscCommExec)
		h.mmap(7, 0x1000, 0x1000, 0, "/x", abi.MiscUser)
	}},
	{"thread of ever other processes", func(h *hostile, i int) { h.comm(100+i, 7, "x", 0) }},

	{"maps beside each other", func(h *hostile, i int) { h.mmap(7, pages(i), 0x1000, 0, "/x", abi.MiscUser) }},
	{"maps of one place", func(h *hostile, i int) { h.mmap(7, 0x1000, 0x1000, 0, "/x", abi.MiscUser) }},
	{"maps nested", func(h *hostile, i int) { h.mmap(7, pages(i), 1<<47-2*pages(i), 0, "/x", abi.MiscUser) }},
	{"maps ever larger", func(h *hostile, i int) { h.mmap(7, 1<<46-pages(i), 2*pages(i), 0, "/x", abi.MiscUser) }},
	{"maps one page on", func(h *hostile, i int) { h.mmap(7, pages(i), 1<<40, 0, "/x", abi.MiscUser) }},
	{"maps one page back", func(h *hostile, i int) { h.mmap(7, 1<<46-pages(i), 1<<40, 0, "/x", abi.MiscUser) }},
	{"maps of any place", func(h *hostile, i int) { h.mmap(7, userAddr(i), mix(-i)%(1<<40), 0, "/x", abi.MiscUser) }},
	{"maps of 2^63", func(h *hostile, i int) { h.mmap(7, userAddr(i), 1<<63, 1<<63, "/x", abi.MiscUser) }},
	{"maps of files", func(h *hostile, i int) { h.mmap(7, pages(i), 0x1000, 0, fmt.Sprint("/f", i), abi.MiscUser) }},
	{"maps of files by inode", func(h *hostile, i int) { h.mmap2(7, pages(i), 0x1000, uint64(i), "/x") }},
	{"maps of long paths", func(h *hostile, i int) { h.mmap2(7, pages(i), 0x1000, 0, longPath(i)) }},
	{"maps of processes", func(h *hostile, i int) { h.mmap(100+i, 0x1000, 0x1000, 0, "/x", abi.MiscUser) }},
	{"maps of memory of processes", func(h *hostile, i int) { h.mmap(100+i, 0x1000, 0x1000, 0, "//anon", abi.MiscUser) }},
	{"dumps", func(h *hostile, i int) {
		h.mmap(100+i, 0x1000, 0x1000, 0, fmt.Sprintf("/jit-%d.dump", i), abi.MiscUser)
	}},
	{"modules", func(h *hostile, i int) {
		h.mmap(-1, 1<<63+pages(i), 0x1000, 0, fmt.Sprintf("[m%d]", i), abi.MiscKernel)
	}},
	{"modules of a guest", func(h *hostile, i int) {
		h.mmap(-1, 1<<63+pages(i), 0x1000, 0, fmt.Sprintf("[m%d]", i), abi.MiscGuestKernel)
	}},
	{"programs of the kernel", func(h *hostile, i int) { h.ksymbol(1<<63+pages(i), 0x1000, 0, fmt.Sprint("p", i)) }},
	{"programs of the kernel, come and gone", func(h *hostile, i int) {
		h.ksymbol(1<<63+mix(i/2)%(1<<40), -1, uint16(i%2), "p")
	}},

	{"other records of full size", func(h *hostile, i int) {
		types := []abi.RecordType{abi.RecordNamespaces, abi.RecordBPFEvent, abi.RecordCgroup, abi.RecordTextPoke, abi.RecordAux,
			abi.RecordItraceStart, abi.RecordSwitch, abi.RecordIDIndex, abi.RecordThreadMap, abi.RecordStat, 200, 5000}
		h.record(types[i%len(types)], 0xffff, func(b []byte) []byte {
			for range 8000 {
				b = h.u64(b, 1<<64-1)
			}
			return b
		})
	}},
	{"records of no size", func(h *hostile, i int) {
		h.b = abi.Header{Type: abi.RecordType(1 + i%22), Misc: abi.Misc(mix(i)), Size: 8}.AppendTo(h.b, h.o)
	}},
	{"records of ever other types", func(h *hostile, i int) {
		h.b = abi.Header{Type: abi.RecordType(1000 + i), Size: 8}.AppendTo(h.b, h.o)
	}},
	{"lost", func(h *hostile, i int) {
		h.record(abi.RecordLost, 0, func(b []byte) []byte { return h.u64(b, uint64(i), 1<<63) })
	}},

	{"samples of distinct stacks", func(h *hostile, i int) {
		var c []uint64
		for k := range 10 {
			c = append(c, userAddr(10*i+k))
		}
		h.sample(7, 7, c[0], abi.MiscUser, append([]uint64{abi.ContextUser}, c...)...)
	}},
	{"samples of distinct short stacks", func(h *hostile, i int) { h.sample(7, 7, uint64(i), abi.MiscUser) }},
	{"samples of distinct kernel stacks", func(h *hostile, i int) { h.sample(7, 7, 1<<63+uint64(i), abi.MiscKernel) }},
	{"samples of deep stacks", func(h *hostile, i int) {
		c := []uint64{abi.ContextUser}
		for k := range 8000 {
			c = append(c, userAddr(8000*i+k))
		}
		h.sample(7, 7, 1, abi.MiscUser, c...)
	}},
	{"samples of deep stacks of few places", func(h *hostile, i int) {
		c := []uint64{abi.ContextUser}
		for k := range 8000 {
			c = append(c, mix(8000*i+k)%16)
		}
		h.sample(7, 7, 1, abi.MiscUser, c...)
	}},
	{"samples of markers", func(h *hostile, i int) {
		var c []uint64
		markers := []uint64{abi.ContextHV, abi.ContextKernel, abi.ContextUser, abi.ContextGuest, abi.ContextGuestKernel, abi.ContextGuestUser}
		for k := range 4000 {
			c = append(c, markers[mix(8000*i+k)%6], uint64(k))
		}
		h.sample(7, 7, 1, abi.MiscUser, c...)
	}},
	{"samples that wait", func(h *hostile, i int) {
		h.sample(7, 7, 1, abi.MiscUser, abi.ContextKernel, 1<<63, abi.ContextUserDeferred, uint64(i))
	}},
	{"samples of processes", func(h *hostile, i int) { h.sample(100+i, 100+i, 1, abi.MiscUser) }},
	{"samples of threads", func(h *hostile, i int) { h.sample(7, 100+i, 1, abi.MiscUser) }},

	{"named processes with samples", func(h *hostile, i int) {
		h.comm(100+i, 100+i, fmt.Sprint("n", i), 0)
		h.sample(100+i, 100+i, 1, abi.MiscUser)
	}},
	{"fork in a line with samples", func(h *hostile, i int) {
		h.fork(100+i, 100+i, 99+i, 99+i)
		h.sample(100+i, 100+i, userAddr(i), abi.MiscUser)
	}},
	{"fork in a line, mapping, with samples", func(h *hostile, i int) {
		if i < 2000 {
			h.fork(100+i, 100+i, 99+i, 99+i)
			h.mmap(100+i, pages(i), 0x1000, 0, "/x", abi.MiscUser)
			return
		}
		var c []uint64
		for k := range 1000 {
			c = append(c, userAddr(1000*i+k))
		}
		h.sample(2095, 2095, 1, abi.MiscUser, c...)
	}},
	{"fork of few by each other, mapping, with samples", func(h *hostile, i int) {
		pid, parent := 8+int(mix(i)%5), 8+int(mix(-i)%5)
		h.fork(pid, pid, parent, parent)
		h.mmap(8+int(mix(3*i)%5), pages(i%8), 0x1000, 0, "/x", abi.MiscUser)
		h.sample(pid, pid, pages(i%8), abi.MiscUser)
		if i%100 == 0 {
			h.record(abi.RecordFinishedRound, 0, func(b []byte) []byte { return b })
		}
	}},
	{"maps of one place with samples", func(h *hostile, i int) {
		h.mmap(7, 0x1000, 0x1000, 0, "/x", abi.MiscUser)
		h.sample(7, 7, 0x1800, abi.MiscUser)
	}},
	{"maps nested with samples before", func(h *hostile, i int) {
		if i < 200_000 {
			h.mmap(7, pages(i), 1<<47-2*pages(i), 0, "/x", abi.MiscUser)
			return
		}
		h.t -= 1000 // back to the time of some map
		var c []uint64
		for k := range 1000 {
			c = append(c, userAddr(1000*i+k))
		}
		h.sample(7, 7, 1, abi.MiscUser, c...)
	}},
	{"maps of any place with samples before", func(h *hostile, i int) {
		if i < 200_000 {
			h.mmap(7, userAddr(i), mix(-i)%(1<<30), 0, fmt.Sprint("/f", i%16), abi.MiscUser)
			return
		}
		h.t -= 1000
		var c []uint64
		for k := range 1000 {
			c = append(c, userAddr(1000*i+k))
		}
		h.sample(7, 7, 1, abi.MiscUser, c...)
	}},
	{"files with samples", func(h *hostile, i int) {
		h.mmap(7, pages(i), 0x1000, 0, fmt.Sprint("/f", i), abi.MiscUser)
		h.sample(7, 7, pages(i), abi.MiscUser)
	}},
	{"parts of a file with samples", func(h *hostile, i int) {
		h.mmap(7, pages(i), 0x1000, 2*pages(i), "/x", abi.MiscUser)
		h.sample(7, 7, pages(i), abi.MiscUser)
	}},
	{"memory of processes with samples", func(h *hostile, i int) {
		h.mmap(100+i, 0x1000, 0x1000, 0, "//anon", abi.MiscUser)
		h.sample(100+i, 100+i, 0x1800, abi.MiscUser)
	}},
	{"modules with samples", func(h *hostile, i int) {
		h.mmap(-1, 1<<63+pages(i), 0x1000, 0, fmt.Sprintf("[m%d]", i), abi.MiscKernel)
		h.sample(7, 7, 1<<63+pages(i), abi.MiscKernel)
	}},
	{"programs of the kernel with samples", func(h *hostile, i int) {
		h.ksymbol(1<<63+pages(i), 0x1000, 0, fmt.Sprint("p", i))
		h.sample(7, 7, 1<<63+pages(i), abi.MiscKernel)
	}},
}

// hostileTimes are the ways in which the time of a record may follow from the one
// before.
var hostileTimes = map[string]func(t uint64, i int) uint64{
	"rising":  func(t uint64, i int) uint64 { return t + 1 },
	"falling": func(t uint64, i int) uint64 { return t - 1 },
	"equal":   func(t uint64, i int) uint64 { return t },
	"none":    func(uint64, int) uint64 { return 0 },
	"any":     func(_ uint64, i int) uint64 { return mix(i) >> 8 },
}

// hostileRecords are records of a kind, size bytes of them.
func hostileRecords(k hostileKind, times func(uint64, int) uint64, size int) []byte {
	h := newHostile()
	for i := 0; len(h.b) < size; i++ {
		h.t = times(h.t, i)
		k.append(h, i)
	}
	return h.b
}

// hostileFile makes records a recording, in file mode or in pipe mode.
func hostileFile(records []byte, pipe bool) []byte {
	var o abi.Order
	attr := boundAttr.AppendTo(nil, o)
	for len(attr) < abi.AttrSizeVer7 {
		attr = append(attr, 0)
	}
	attr = attr[:abi.AttrSizeVer7]
	o.AppendUint32(attr[:4], abi.AttrSizeVer7)
	b := []byte("PERFILE2")
	if pipe {
		b = o.AppendUint64(b, 16)
		b = abi.Header{Type: abi.RecordHeaderAttr, Size: uint16(8 + len(attr))}.AppendTo(b, o)
		b = append(b, attr...)
		return append(b, records...)
	}
	const head = 104
	entry := uint64(len(attr) + 16)
	for _, v := range []uint64{head, entry, head, entry, head + entry, uint64(len(records)), 0, 0, 0, 0, 0, 0} {
		b = o.AppendUint64(b, v)
	}
	b = append(b, attr...)
	b = o.AppendUint64(o.AppendUint64(b, 0), 0) // no ids
	return append(b, records...)
}
