package render

import (
	"strings"

	"kprof/convert/stacks"
)

// kindOfFrame is the kind of a frame called name at a location. Text tells no
// kinds but by annotations.
func kindOfFrame(l *stacks.Location, inlined bool, name string) FrameKind {
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
