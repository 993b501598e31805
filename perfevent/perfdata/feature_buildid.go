package perfdata

import (
	"bytes"
	"fmt"

	"kprof/perfevent/abi"
)

// BuildID says which build of a file was recorded: an entry of the BUILD_ID
// feature, or a HEADER_BUILD_ID record of pipe mode.
type BuildID struct {
	Misc abi.Misc // its CPU mode tells kernel from user space
	PID  int32    // -1 for the host, otherwise a guest
	ID   []byte   // at most 20 bytes
	Name string
}

// miscBuildIDSize says that an entry holds the length of its build id
// (PERF_RECORD_MISC_BUILD_ID_SIZE in tools/lib/perf/include/perf/event.h, since
// Linux 5.10); before, all had 20 bytes.
const miscBuildIDSize abi.Misc = 1 << 15

const (
	maxBuildID       = 20
	buildIDSize      = 36 // header, pid, 20 bytes of id, its length, padding
	buildIDSizeNoPID = 32 // before Linux 2.6.34, without pid
)

// DecodeBuildID reads a HEADER_BUILD_ID record, header included. ID aliases rec.
func DecodeBuildID(rec []byte, o abi.Order) (BuildID, error) {
	if len(rec) < buildIDSize {
		return BuildID{}, fmt.Errorf("build id record of %d bytes is shorter than %d", len(rec), buildIDSize)
	}
	b := BuildID{
		Misc: abi.DecodeHeader(rec, o).Misc,
		PID:  int32(o.Uint32(rec[8:])),
		ID:   rec[12 : 12+maxBuildID : 12+maxBuildID],
		Name: cstring(rec[buildIDSize:]),
	}
	if b.Misc&miscBuildIDSize != 0 {
		b.ID = b.ID[:min(int(rec[12+maxBuildID]), maxBuildID)]
	} else {
		b.ID = trimBuildID(b.ID)
	}
	b.Misc &^= miscBuildIDSize
	return b, nil
}

// trimBuildID cuts the padding off a build id of unknown length. Real ids end
// in four zero bytes once in four billion.
func trimBuildID(id []byte) []byte {
	for len(id) >= 4 && bytes.Equal(id[len(id)-4:], []byte{0, 0, 0, 0}) {
		id = id[:len(id)-4]
	}
	return id
}

// AppendTo appends b as a HEADER_BUILD_ID record.
func (b *BuildID) AppendTo(dst []byte, o abi.Order) []byte {
	id := b.ID[:min(len(b.ID), maxBuildID)]
	name := b.Name[:min(len(b.Name), 1<<16-1-buildIDSize-stringAlign)]
	n := align(len(name)+1, stringAlign)
	dst = abi.Header{
		Type: abi.RecordHeaderBuildID,
		Misc: b.Misc | miscBuildIDSize,
		Size: uint16(buildIDSize + n),
	}.AppendTo(dst, o)
	dst = o.AppendUint32(dst, uint32(b.PID))
	dst = append(dst, id...)
	dst = append(dst, make([]byte, maxBuildID-len(id))...)
	dst = append(dst, byte(len(id)), 0, 0, 0)
	dst = append(dst, name...)
	return append(dst, make([]byte, n-len(name))...)
}

// kallsymsNoPID is what the kernel's name looks like when an entry without pid
// is read as one with: perf tells the two forms apart by it.
const kallsymsNoPID = "nel.kallsyms]"

func (c *cursor) buildIDs() []BuildID {
	start := c.off
	ids := c.buildIDForm(buildIDSize)
	for i := range ids {
		if ids[i].Name == kallsymsNoPID {
			c.off, c.err = start, nil
			return c.buildIDForm(buildIDSizeNoPID)
		}
	}
	return ids
}

// buildIDForm reads entries whose name starts at offset size.
func (c *cursor) buildIDForm(size int) []BuildID {
	var ids []BuildID
	for c.err == nil && c.left() > 0 {
		if c.left() < size {
			c.fail("build id entry of %d bytes, %d left", size, c.left())
			break
		}
		h := abi.DecodeHeader(c.b[c.off:], c.o)
		if int(h.Size) < size {
			c.fail("build id entry says its size is %d", h.Size)
			break
		}
		rec := c.take(int(h.Size))
		if rec == nil {
			break
		}
		if size == buildIDSize {
			b, err := DecodeBuildID(rec, c.o)
			if err != nil {
				c.fail("%w", err)
				break
			}
			ids = append(ids, b)
			continue
		}
		pid := int32(-1)
		if m := h.Misc.CPUMode(); m == abi.MiscGuestUser || m == abi.MiscGuestKernel {
			pid = 0
		}
		ids = append(ids, BuildID{
			Misc: h.Misc &^ miscBuildIDSize, PID: pid,
			ID:   trimBuildID(rec[8 : 8+maxBuildID : 8+maxBuildID]),
			Name: cstring(rec[size:]),
		})
	}
	if c.err != nil {
		return nil
	}
	return ids
}

func (e *encoder) buildIDs(ids []BuildID) {
	for i := range ids {
		e.b = ids[i].AppendTo(e.b, e.o)
	}
}
