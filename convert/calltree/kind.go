package calltree

import (
	"fmt"
	"strings"

	"kprof/convert/stacks"
)

// FrameKind is what sort of code a frame is, for those who look at it.
type FrameKind uint8

const (
	FrameUnknown FrameKind = iota
	FrameUser
	FrameKernel
	FrameModule
	FrameBPF
	FrameJIT     // code in memory without a file
	FrameInlined // a function that is part of its caller's code
	FrameGuest   // of a virtual machine, or a hypervisor
	FrameProcess // not code, but what ran it: a comm
	NumFrameKinds
)

var frameKinds = [NumFrameKinds]string{"unknown", "user", "kernel", "module", "BPF", "JIT", "inlined", "guest", "process"}

func (k FrameKind) String() string {
	if k < NumFrameKinds {
		return frameKinds[k]
	}
	return fmt.Sprintf("FrameKind(%d)", uint8(k))
}

// kindOfCode is what frames of a location of each kind are.
var kindOfCode = [...]FrameKind{
	stacks.KindUnknown:    FrameUnknown,
	stacks.KindKernel:     FrameKernel,
	stacks.KindModule:     FrameModule,
	stacks.KindBPF:        FrameBPF,
	stacks.KindUser:       FrameUser,
	stacks.KindVDSO:       FrameUser,
	stacks.KindAnon:       FrameJIT,
	stacks.KindGuest:      FrameGuest,
	stacks.KindHypervisor: FrameGuest,
}

// annotations are what flamegraph.pl and its collapsers append to names to tell
// what they are.
var annotations = map[string]FrameKind{
	"_[k]": FrameKernel, "_[j]": FrameJIT, "_[i]": FrameInlined,
	"_[g]": FrameGuest, // kprof's own: see symbolize.GuestSuffix
}

// KindOf is the kind of a frame called name at a location. Text tells no
// kinds but by annotations.
func KindOf(l *stacks.Location, inlined bool, name string) FrameKind {
	if inlined {
		return FrameInlined
	}
	if l.Kind == stacks.KindUnknown && l.Mapping == stacks.NoMapping {
		if strings.HasSuffix(name, "]") && len(name) > 4 {
			return annotations[name[len(name)-4:]]
		}
	}
	if int(l.Kind) < len(kindOfCode) {
		return kindOfCode[l.Kind]
	}
	return FrameUnknown
}

// InKernel reports whether a location whose outermost function has that name is code of the
// kernel, of its modules or of a BPF program.
func InKernel(l *stacks.Location, name string) bool {
	switch KindOf(l, false, name) {
	case FrameKernel, FrameModule, FrameBPF:
		return true
	}
	return false
}
