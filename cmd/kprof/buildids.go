package main

import (
	"encoding/hex"
	"strings"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// buildIDs collects the builds of the files that a recording maps, for the list
// in the header of a perf.data file. perf reads its whole file a second time for
// that; we see the records pass.
type buildIDs struct {
	layout abi.Layout
	seen   map[buildIDKey]bool
	list   []perfdata.BuildID
}

const kernelName = "[kernel.kallsyms]"

type buildIDKey struct{ name, id string }

func newBuildIDs(sideband *abi.Attr) *buildIDs {
	return &buildIDs{layout: abi.NewLayout(sideband, abi.LittleEndian), seen: map[buildIDKey]bool{}}
}

// take looks at a side-band record.
func (b *buildIDs) take(rec []byte) {
	h := abi.DecodeHeader(rec, abi.LittleEndian)
	if h.Type != abi.RecordMmap2 || h.Misc&abi.MiscMmapBuildID == 0 {
		return
	}
	m, err := b.layout.DecodeMmap(h, rec[abi.HeaderSize:])
	if err != nil || m.BuildID == "" || m.File == "" {
		return
	}
	if m.PID == -1 && strings.HasPrefix(m.File, kernelName) {
		m.File = kernelName // without the symbol that its address is of
	}
	k := buildIDKey{m.File, m.BuildID}
	if b.seen[k] {
		return
	}
	b.seen[k] = true
	id, err := hex.DecodeString(m.BuildID)
	if err != nil {
		return
	}
	b.list = append(b.list, perfdata.BuildID{Misc: h.Misc.CPUMode(), PID: -1, ID: id, Name: m.File})
}
