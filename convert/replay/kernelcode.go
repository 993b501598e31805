package replay

import (
	"kprof/convert/stacks"
	"kprof/convert/timeline"
	"kprof/perfevent/perfdata"
	"kprof/symbolize"
)

// kernelCode finds functions of the recorded kernel, once the first is asked for.
type kernelCode struct {
	tl       *timeline.Timeline
	buildIDs func() []perfdata.BuildID // that the recording tells by now; nil for none
	ask      func(stacks.Mapping) symbolize.FindCode
	asked    bool
	code     symbolize.FindCode
}

func (k *kernelCode) find(addr uint64) (name string, offset uint64, ok bool) {
	if !k.asked && k.ask != nil {
		var ids []perfdata.BuildID
		if k.buildIDs != nil {
			ids = k.buildIDs()
		}
		k.code = k.ask(KernelImage(k.tl, ids))
	}
	k.asked = true
	if k.code == nil {
		return "", 0, false
	}
	return k.code(addr)
}
