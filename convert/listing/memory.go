package listing

import (
	"kprof/perfevent/abi"
	"kprof/perfevent/datasrc"
)

// cost is a part of what an access to memory cost.
func cost(c Columns, e *Event) uint64 {
	all, instruction, retire := datasrc.Costs(e.Sample.Weight, e.Kind.Event.Attr.SampleType&abi.SampleWeightStruct != 0)
	switch c {
	case InsLat:
		return instruction
	case RetireLat:
		return retire
	}
	return all
}
