package stacks

import (
	"fmt"

	"kprof/convert/intern"
)

// MaxKept is how many bytes of memory may be kept of an input that is size bytes
// long as it is stored, compressed. What an input expands to is no measure: honest
// ones repeat themselves a thousand times, and little of that is kept. They come to
// twenty times their compressed size, with very deep stacks to fifty, and a small
// one to anything.
func MaxKept(size int64) int64 { return 48<<20 + 96*size }

// TooLargeError says that an input was refused, as more of it would have been kept
// than MaxKept allows.
type TooLargeError struct {
	Size int64 // of the input as it is stored, in bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%d bytes that expand to more than %d MiB of memory: no profile is like that", e.Size, MaxKept(e.Size)>>20)
}

// What an element takes in memory, and in a slice that append has doubled or in a
// map too.
const (
	mappingSize   = 136
	locationSize  = 32
	lineSize      = 24
	functionSize  = 56
	labelSize     = 56
	perLabelEntry = 2 * (24 + 16 + 8)
)

// Size is about how many bytes of memory the Set takes, without the strings in its
// mappings and functions. It is quick.
func (s *Set) Size() int64 {
	tables := cap(s.Mappings)*mappingSize + cap(s.Locations)*locationSize + cap(s.lines)*lineSize +
		cap(s.Functions)*functionSize + intern.SlotSize*s.functions.index.Slots()
	return int64(tables + s.labels.size + s.chains.size() + s.rows.size() + cap(s.BlockSums)*24)
}

func (t *chainTable) size() int {
	words := cap(t.pos)
	if n := len(t.blocks); n > 0 { // of which only the first one is not whole
		words += cap(t.blocks[0]) + (n-1)*blockSize
	}
	return 4*words + intern.SlotSize*t.index.Slots()
}

func (t *rowTable) size() int {
	return len(t.rows)*rowBlock*16 + t.room*8 + intern.SlotSize*t.index.Slots()
}
