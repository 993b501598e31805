package symbolize

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strconv"
	"syscall"

	"kprof/symbolize/internal/regular"
	"kprof/symbolize/internal/span"
)

// maxPerfMap bounds how much of a perf map is read: a process may append to its
// own for ever.
const maxPerfMap = 1 << 30

// perfMap names code that a process made at run time, as it wrote itself:
// lines "start size name", the numbers hexadecimal. It is what perf reads from
// /tmp/perf-PID.map (tools/perf/Documentation/jit-interface.txt).
type perfMap struct {
	ranges []mapRange
	index  *span.Index
	names  string
}

type mapRange struct {
	start, end uint64
	name       uint32 // offset in names
	length     uint32
}

func (t *perfMap) Lookup(dst []Frame, addr uint64) []Frame {
	i, ok := t.index.Lookup(addr)
	if !ok {
		return dst
	}
	r := t.ranges[i]
	name := t.names[r.name : r.name+r.length]
	return append(dst, Frame{Name: name, SystemName: name})
}

// parsePerfMap reads a perf map. Where ranges overlap the later line counts: the
// process has put new code in the place of old. Lines that are no entries are
// left out, as perf does, and so is a last line without its end, which the
// process may be writing now.
func parsePerfMap(r io.Reader) (*perfMap, error) {
	t := &perfMap{}
	var names []byte
	br := bufio.NewReaderSize(io.LimitReader(r, maxPerfMap), 1<<16)
	var err error
	for err == nil {
		var line []byte
		line, err = br.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			for err == bufio.ErrBufferFull {
				_, err = br.ReadSlice('\n')
			}
			continue // longer than any name
		}
		if err != nil {
			break
		}
		start, end, name, ok := perfMapLine(line[:len(line)-1])
		if !ok {
			continue
		}
		if len(t.ranges) == math.MaxInt32 {
			break
		}
		t.ranges = append(t.ranges, mapRange{start, end, uint32(len(names)), uint32(len(name))})
		names = append(names, name...)
	}
	t.names = string(names)
	t.index = span.New(len(t.ranges), func(i int) span.Range {
		return span.Range{Start: t.ranges[i].start, End: t.ranges[i].end}
	})
	if err == io.EOF {
		err = nil
	}
	return t, err
}

// perfMapLine reads one line without its newline.
func perfMapLine(line []byte) (start, end uint64, name []byte, ok bool) {
	first, rest, ok1 := bytes.Cut(line, []byte(" "))
	second, name, ok2 := bytes.Cut(rest, []byte(" "))
	if !ok1 || !ok2 || len(name) == 0 {
		return 0, 0, nil, false
	}
	start, err1 := parseHex(first)
	size, err2 := parseHex(second)
	end = start + size
	if err1 != nil || err2 != nil || end <= start {
		return 0, 0, nil, false
	}
	return start, end, name, true
}

// parseHex reads a hexadecimal number, with 0x in front or without.
func parseHex(b []byte) (uint64, error) {
	b = bytes.TrimPrefix(b, []byte("0x"))
	return strconv.ParseUint(string(b), 16, 64)
}

// perfMapKey tells perf maps apart.
type perfMapKey struct{ pid int }

// perfMapTable is perfMap as a Table.
func (s *Symbolizer) perfMapTable(m Mapping) (Table, error) {
	t, err := s.perfMap(m)
	if t == nil {
		return nil, err
	}
	return t, err
}

// perfMap reads the perf map of the process of m: in the file system and under the
// number that the process itself knows, then in this machine's /tmp.
func (s *Symbolizer) perfMap(m Mapping) (*perfMap, error) {
	if m.PID <= 0 {
		return nil, fmt.Errorf("%w: process unknown", ErrNoSymbols)
	}
	if s.opts.Foreign && s.opts.Root == "" {
		return nil, ErrForeign
	}
	return s.perfMaps.get(perfMapKey{m.PID}, func() (*perfMap, error) {
		return s.openPerfMap(m.PID)
	})
}

func (s *Symbolizer) openPerfMap(pid int) (*perfMap, error) {
	var (
		places []place
		owners = []uint32{0, uint32(os.Geteuid())}
	)
	if s.opts.Root == "" {
		if p, err := readProcess(pid); err == nil {
			owners = append(owners, p.uid)
			places = append(places, place{fmt.Sprintf("/proc/%d/root", pid), fmt.Sprintf("/tmp/perf-%d.map", p.innerPID)})
		}
	}
	places = append(places, place{s.opts.Root, fmt.Sprintf("/tmp/perf-%d.map", pid)})

	var why error
	for _, p := range places {
		t, err := readPerfMap(p, owners)
		if t != nil {
			return t, err
		}
		why = moreTelling(why, err)
	}
	return nil, why
}

// readPerfMap reads the perf map at p if one of owners wrote it: anyone may put
// a file into /tmp.
func readPerfMap(p place, owners []uint32) (*perfMap, error) {
	f, info, err := regular.Open(p.root, p.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if !ownedBy(info, owners) {
		return nil, fmt.Errorf("%s: %w", p, ErrUntrusted)
	}
	t, err := parsePerfMap(f)
	if err != nil {
		return t, fmt.Errorf("read %s: %w", p, err)
	}
	if len(t.ranges) == 0 {
		return nil, fmt.Errorf("%s: %w", p, errEmptyMap)
	}
	return t, nil
}

var errEmptyMap = errors.New("no entries")

func ownedBy(info fs.FileInfo, owners []uint32) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	for _, uid := range owners {
		if st.Uid == uid {
			return true
		}
	}
	return false
}
