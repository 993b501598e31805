package sniff

import "encoding/binary"

// isRingPage tells whether head begins with a page of a ring buffer of the kernel's tracer, of a machine of 64 bits
// with the first byte the lowest: a time, how many bytes of events there are, and events, each behind a word with its
// length, which end there (include/linux/ring_buffer.h, kernel/trace/ring_buffer.c).
func isRingPage(head []byte) bool {
	const dataHead, flags = 16, 3 << 30 // events were lost before, and how many is told behind the others
	if len(head) < dataHead {
		return false
	}
	t, commit := binary.LittleEndian.Uint64(head), binary.LittleEndian.Uint64(head[8:])
	if commit>>31 == 1<<33-1 {
		commit &= 1<<32 - 1 // the kernel extends bit 31 by its sign
	}
	commit &^= flags
	if t == 0 || t >= 1<<62 || commit < 8 || commit > uint64(len(head)-dataHead) {
		return false
	}
	for events := head[dataHead : dataHead+commit]; len(events) > 0; {
		if len(events) < 8 {
			return false
		}
		word, more := binary.LittleEndian.Uint32(events), binary.LittleEndian.Uint32(events[4:])
		size := 8
		switch kind := word & 31; {
		case kind == 0: // the length is in the next word, which it counts in
			size = 4 + int(min(more, 1<<16)+3)&^3
		case kind <= 28:
			size = 4 + 4*int(kind)
		case kind == 29 && word>>5 == 0:
			return len(events) < len(head) // nothing but padding follows
		case kind == 29:
			size = 4 + int(min(more, 1<<16))
		}
		if size < 8 || size > len(events) || size%4 != 0 {
			return false
		}
		events = events[size:]
	}
	return true
}
