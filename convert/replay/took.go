package replay

import (
	"math/bits"

	"kprof/convert/stacks"
)

// TookLabel is the label of times by which they are told apart in any output: the largest
// power of two, in nanoseconds, that is not above the time, or 0.
const TookLabel = "took"

// took is the number of bits of a time, where it is a label.
type took uint8

func (r *rows) took(t uint64) took {
	if r.opts.Labels&LabelTook == 0 {
		return noTook
	}
	return took(bits.Len64(t))
}

const noTook took = 0xff

// appendTo appends the label.
func (t took) appendTo(list []stacks.Label) []stacks.Label {
	if t == noTook {
		return list
	}
	return append(list, stacks.Label{Key: TookLabel, Num: int64(uint64(1) << t >> 1), Unit: nanoseconds})
}
