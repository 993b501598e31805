// Package datasrc says in perf's words what an access to memory was and where its data was
// found, as samples have it (PERF_SAMPLE_DATA_SRC).
package datasrc

import "strconv"

// The parts of union perf_mem_data_src (include/uapi/linux/perf_event.h): each begins where the
// one before it ends, and what is behind them is reserved.
const (
	opBits, lvlBits, snoopBits, lockBits, tlbBits                = 5, 14, 5, 2, 7
	lvlNumBits, remoteBits, snoopxBits, blkBits, hopsBits        = 4, 1, 2, 3, 3
	lvlNA, lvlHit, lvlMiss                                Source = 1, 2, 4 // also of the TLB
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

// Source is a union perf_mem_data_src.
type Source uint64

// Part is one of the things that a Source says.
type Part uint8

const (
	Op    Part = iota // LOAD, STORE
	Level             // of the memory that had it: L1 hit, RAM miss
	Snoop             // in the caches of other CPUs: None, HitM
	TLB               // how its address was translated: L1 or L2 hit, Walker
	Lock              // whether the instruction was locked: Yes, No
	Block             // what a load was blocked for: Data, Addr
)

// Parts are all, in the order of perf script.
var Parts = [...]Part{Op, Level, Snoop, TLB, Lock, Block}

// String is what the kernel's union calls a part.
func (p Part) String() string {
	return [...]string{"mem_op", "mem_lvl", "mem_snoop", "mem_dtlb", "mem_lock", "mem_blk"}[p]
}

// bits returns so many bits of a Source, and those behind them.
func (s Source) bits(n int) (bits, rest Source) { return s & (1<<n - 1), s >> n }

// AppendTo appends all parts as perf script does from 6.4 on (perf_script__meminfo_scnprintf):
// "|OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A".
func (s Source) AppendTo(dst []byte) []byte {
	for i, before := range [...]string{"|OP ", "|LVL ", "|SNP ", "|TLB ", "|LCK ", "|BLK  "} {
		dst = s.AppendPart(append(dst, before...), Parts[i])
	}
	return dst
}

// AppendPart appends one part, such as "L1 hit".
func (s Source) AppendPart(dst []byte, p Part) []byte {
	op, s := s.bits(opBits)
	lvl, s := s.bits(lvlBits)
	snoop, s := s.bits(snoopBits)
	lock, s := s.bits(lockBits)
	tlb, s := s.bits(tlbBits)
	lvlNum, s := s.bits(lvlNumBits)
	remote, s := s.bits(remoteBits)
	snoopx, s := s.bits(snoopxBits)
	blk, s := s.bits(blkBits)
	hops, _ := s.bits(hopsBits)
	switch p {
	case Op:
		for i, name := range opNames {
			if op>>i&1 != 0 { // the first of them
				return append(dst, name...)
			}
		}
		return append(dst, "No"...)
	case Level:
		return appendLevel(dst, lvl, lvlNum, remote != 0, hops)
	case Snoop:
		return appendBits(dst, snoopNames[:], snoop|snoopx<<snoopBits)
	case TLB:
		dst = appendBits(dst, tlbNames[:], tlb&^(lvlHit|lvlMiss))
		if tlb&lvlHit != 0 {
			dst = append(dst, " hit"...)
		}
		if tlb&lvlMiss != 0 {
			dst = append(dst, " miss"...)
		}
		return dst
	case Lock:
		switch {
		case lock&1 != 0:
			return append(dst, "N/A"...)
		case lock&2 != 0:
			return append(dst, "Yes"...)
		}
		return append(dst, "No"...)
	}
	switch {
	case blk == 0 || blk&1 != 0:
		return append(dst, "N/A"...)
	case blk&6 == 6:
		return append(dst, "Data Addr"...)
	case blk&2 != 0:
		return append(dst, "Data"...)
	}
	return append(dst, "Addr"...)
}

// appendLevel appends the level of the memory: by its number, of kernels that have one (4.14), or
// else by the older bits.
func appendLevel(dst []byte, lvl, num Source, remote bool, hops Source) []byte {
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
func appendBits(dst []byte, names []string, bits Source) []byte {
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

// AppendPageSize appends the size of a page in bytes as perf script does (unit_number__scnprintf):
// 4K, 2M, but 1024M.
func AppendPageSize(dst []byte, size uint64) []byte {
	if size == 0 {
		return append(dst, "N/A"...)
	}
	i := 0
	for ; size/1024 > 1 && i < 3; i++ {
		size /= 1024
	}
	return append(strconv.AppendUint(dst, size, 10), "BKMG"[i])
}

// Costs are what a sample says of what an access cost, of its union perf_sample_weight: of the
// structure of those with PERF_SAMPLE_WEIGHT_STRUCT its three parts, otherwise the weight alone.
func Costs(weight uint64, structure bool) (all, instruction, retire uint64) {
	if !structure {
		return weight, 0, 0
	}
	return weight & 0xffffffff, weight >> 32 & 0xffff, weight >> 48
}
