package listing

import (
	"strconv"

	"kprof/perfevent/abi"
)

// The parts of union perf_mem_data_src (include/uapi/linux/perf_event.h): each begins where the
// one before it ends, and what is behind them is reserved.
const (
	opBits, lvlBits, snoopBits, lockBits, tlbBits                = 5, 14, 5, 2, 7
	lvlNumBits, remoteBits, snoopxBits, blkBits, hopsBits        = 4, 1, 2, 3, 3
	lvlNA, lvlHit, lvlMiss                                uint64 = 1, 2, 4 // also of the TLB
	lvlNumNA                                                     = 15
)

// The words of perf for them (tools/perf/util/mem-events.c), by bit, or by number.
var (
	opNames     = [...]string{"N/A", "LOAD", "STORE", "PFETCH", "EXEC"}
	lvlNames    = [...]string{"N/A", "HIT", "MISS", "L1", "LFB/MAB", "L2", "L3", "Local RAM", "Remote RAM (1 hop)", "Remote RAM (2 hops)", "Remote Cache (1 hop)", "Remote Cache (2 hops)", "I/O", "Uncached"}
	snoopNames  = [...]string{"N/A", "None", "Hit", "Miss", "HitM", "Fwd", "Peer"} // snoopx behind snoop
	tlbNames    = [...]string{"N/A", "HIT", "MISS", "L1", "L2", "Walker", "Fault"}
	lvlNumNames = [16]string{1: "L1", 2: "L2", 3: "L3", 4: "L4", 5: "L2 MHB", 6: "Memory-side Cache", 7: "L0", 8: "Uncached", 9: "CXL", 10: "I/O", 11: "Any cache", 12: "LFB/MAB", 13: "RAM", 14: "PMEM"}
	hopsNames   = [8]string{1: "core, same node", 2: "node, same socket", 3: "socket, same board", 4: "board"}
)

// appendDataSource appends where what an access wanted was found, as perf script does from 6.4
// on (perf_script__meminfo_scnprintf): "|OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A".
func appendDataSource(dst []byte, src uint64) []byte {
	part := func(bits int) uint64 {
		v := src & (1<<bits - 1)
		src >>= bits
		return v
	}
	op, lvl, snoop, lock, tlb := part(opBits), part(lvlBits), part(snoopBits), part(lockBits), part(tlbBits)
	lvlNum, remote, snoopx, blk, hops := part(lvlNumBits), part(remoteBits), part(snoopxBits), part(blkBits), part(hopsBits)

	dst = append(dst, "|OP "...)
	if op == 0 {
		dst = append(dst, "No"...)
	}
	for i, name := range opNames {
		if op>>i&1 != 0 { // the first of them
			dst = append(dst, name...)
			break
		}
	}
	dst = appendLevel(append(dst, "|LVL "...), lvl, lvlNum, remote != 0, hops)
	dst = appendBits(append(dst, "|SNP "...), snoopNames[:], snoop|snoopx<<snoopBits)
	dst = appendBits(append(dst, "|TLB "...), tlbNames[:], tlb&^(lvlHit|lvlMiss))
	if tlb&lvlHit != 0 {
		dst = append(dst, " hit"...)
	}
	if tlb&lvlMiss != 0 {
		dst = append(dst, " miss"...)
	}
	switch {
	case lock&1 != 0:
		dst = append(dst, "|LCK N/A"...)
	case lock&2 != 0:
		dst = append(dst, "|LCK Yes"...)
	default:
		dst = append(dst, "|LCK No"...)
	}
	dst = append(dst, "|BLK "...)
	if blk == 0 || blk&1 != 0 {
		return append(dst, " N/A"...)
	}
	if blk&2 != 0 {
		dst = append(dst, " Data"...)
	}
	if blk&4 != 0 {
		dst = append(dst, " Addr"...)
	}
	return dst
}

// appendLevel appends the level of the memory: by its number, of kernels that have one (4.14), or
// else by the older bits.
func appendLevel(dst []byte, lvl, num uint64, remote bool, hops uint64) []byte {
	switch older := lvl &^ (lvlNA | lvlHit | lvlMiss); {
	case num != 0 && num != lvlNumNA:
		if remote {
			dst = append(dst, "Remote "...)
		}
		if name := hopsNames[hops]; name != "" {
			dst = append(append(dst, name...), ' ')
		}
		dst = append(dst, lvlNumNames[num]...)
	case older != 0:
		dst = appendBits(dst, lvlNames[:], older)
	default:
		return append(dst, "N/A"...)
	}
	switch {
	case lvl&lvlHit != 0:
		dst = append(dst, " hit"...)
	case lvl&lvlMiss != 0:
		dst = append(dst, " miss"...)
	}
	return dst
}

// appendBits appends the names of the bits that are set.
func appendBits(dst []byte, names []string, bits uint64) []byte {
	from := len(dst)
	for i, name := range names {
		if bits>>i&1 == 0 {
			continue
		}
		if len(dst) > from {
			dst = append(dst, " or "...)
		}
		dst = append(dst, name...)
	}
	if len(dst) == from {
		dst = append(dst, "N/A"...)
	}
	return dst
}

// appendPageSize appends the size of a page in bytes as perf script does (unit_number__scnprintf):
// 4K, 2M, but 1024M.
func appendPageSize(dst []byte, size uint64) []byte {
	if size == 0 {
		return append(dst, "N/A"...)
	}
	i := 0
	for ; size/1024 > 1 && i < 3; i++ {
		size /= 1024
	}
	return append(strconv.AppendUint(dst, size, 10), "BKMG"[i])
}

// cost is a part of what an access to memory cost: of the structure one of its parts (union
// perf_sample_weight), which in all but the first have 16 bits.
func cost(c Columns, e *Event) uint64 {
	w := e.Sample.Weight
	if e.Kind.Event.Attr.SampleType&abi.SampleWeightStruct == 0 {
		return w
	}
	switch c {
	case InsLat:
		return w >> 32 & 0xffff
	case RetireLat:
		return w >> 48
	}
	return w & 0xffffffff
}
