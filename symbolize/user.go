package symbolize

import (
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"kprof/symbolize/elfsym"
	"kprof/symbolize/internal/regular"
	"kprof/symbolize/unwind"
)

// fileKey tells files apart, under whatever path they are reached.
type fileKey struct {
	dev, inode uint64
	size       int64
	modified   time.Time
	path       string // a debug file is looked for beside it
}

// place is somewhere a recorded file may be.
type place struct {
	root, path string
}

func (p place) String() string {
	if p.root == "" {
		return p.path
	}
	return filepath.Join(p.root, p.path)
}

// userTable finds the file of m: kept since it was mapped, through a process that
// has it mapped, at its recorded path, in perf's cache of build ids.
func (s *Symbolizer) userTable(m Mapping) (Table, error) {
	t, err := s.userFile(m)
	if t == nil {
		return nil, err
	}
	return t, err
}

// userFile is userTable, a nil pointer for none.
func (s *Symbolizer) userFile(m Mapping) (*fileTable, error) {
	if id := trimBuildID(m.BuildID); id != "" {
		s.mu.Lock()
		t := s.builds[id]
		s.mu.Unlock()
		if t != nil {
			return t, t.why
		}
	}
	var why error
	if s.opts.Foreign && s.opts.Root == "" && m.BuildID == "" {
		return nil, fmt.Errorf("%w, and without a build id", ErrForeign)
	}
	places := s.places(m)
	if s.opts.Keeper != nil {
		kept, err := s.opts.Keeper.place(&m)
		switch {
		case kept.path != "":
			places = slices.Insert(places, 0, kept)
		case err != nil && m.BuildID == "":
			return nil, err // what is elsewhere may be another file
		}
	}
	for _, p := range places {
		t, err := s.file(p, m)
		if err == nil {
			return t, t.why
		}
		why = moreTelling(why, err)
	}
	if why == nil {
		why = fmt.Errorf("find %q: %w", m.Path, fs.ErrNotExist)
	}
	if t := s.servedTable(m); t != nil {
		return t, t.why
	}
	return nil, why
}

// servedTable returns the file of m as a debuginfod server has it, nil if none
// does.
func (s *Symbolizer) servedTable(m Mapping) *fileTable {
	f, path, err := s.servers.fetch(strings.ToLower(m.BuildID), "executable")
	if err != nil {
		return nil
	}
	f.Close() // it is opened again as any other
	t, err := s.file(place{"", path}, m)
	if err != nil {
		return nil
	}
	return t
}

// fetchDebug brings a debug file from a debuginfod server.
func (s *Symbolizer) fetchDebug(buildID []byte) (*os.File, string, error) {
	return s.servers.fetch(hex.EncodeToString(buildID), "debuginfo")
}

// places lists where the file of m may be, the surest first.
func (s *Symbolizer) places(m Mapping) []place {
	var places []place
	if strings.HasPrefix(m.Path, "/") {
		if s.opts.Root == "" && !s.opts.Foreign && m.PID > 0 {
			// The process may live in another mount namespace, or the file may
			// have been replaced or removed since it was mapped.
			if p, ok := mapFile(m); ok {
				places = append(places, p)
			}
			places = append(places, place{fmt.Sprintf("/proc/%d/root", m.PID), m.Path})
		}
		if !m.Deleted || m.BuildID != "" {
			places = append(places, place{s.opts.Root, m.Path})
		}
	}
	if id := trimBuildID(m.BuildID); s.opts.BuildIDCache != "" && len(id) > 2 {
		dir := filepath.Join(s.opts.BuildIDCache, ".build-id", id[:2], id[2:])
		places = append(places, place{"", filepath.Join(dir, "elf")}, place{"", dir})
	}
	return places
}

// mapFile returns the link through which the kernel gives out a mapped file even
// after it was removed, if m is still what is mapped there. It takes
// CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN.
func mapFile(m Mapping) (place, bool) {
	if m.Start >= m.Limit {
		return place{}, false
	}
	path := fmt.Sprintf("/proc/%d/map_files/%x-%x", m.PID, m.Start, m.Limit)
	target, err := os.Readlink(path)
	if err != nil || strings.TrimSuffix(target, " (deleted)") != m.Path {
		return place{}, false
	}
	return place{"", path}, true
}

// file opens the file at p and reads its symbols, if it is the recorded one.
func (s *Symbolizer) file(p place, m Mapping) (*fileTable, error) {
	f, info, err := regular.Open(p.root, p.path)
	if err != nil {
		return nil, err
	}
	loaded := false
	t, err := s.files.get(keyOf(info, m.Path), func() (*fileTable, error) {
		loaded = true
		return s.load(f, m.Path)
	})
	if !loaded {
		f.Close() // known before
	}
	if err != nil {
		return nil, err
	}
	id := trimBuildID(m.BuildID)
	if id == "" {
		return t, nil
	}
	var found string
	if t.file != nil {
		found = hex.EncodeToString(t.file.BuildID())
	}
	if trimBuildID(found) != id {
		return nil, &BuildIDError{Path: p.String(), Recorded: m.BuildID, Found: found}
	}
	s.mu.Lock()
	s.builds[id] = t
	s.mu.Unlock()
	return t, nil
}

// load reads the ELF file or jitdump f. A file that can be read but has no symbols
// gives a table that says so.
func (s *Symbolizer) load(f *os.File, path string) (*fileTable, error) {
	var magic [4]byte
	if _, err := f.ReadAt(magic[:], 0); err == nil && isJITDump(magic[:]) {
		defer f.Close() // it is only read
		dump, err := parseJITDump(f)
		if dump == nil {
			return nil, err
		}
		return &fileTable{jit: dump, why: err}, nil
	}
	demangle := newDemangler(s.opts.Demangle)
	file, err := elfsym.FromFile(f, path, elfsym.Options{
		Root:      s.opts.Root,
		DebugDirs: s.opts.DebugDirs,
		Demangle:  demangle.convert,
		DWARF:     s.opts.debug(),
		Fetch:     s.fetchDebug,
	})
	if err != nil {
		return nil, err
	}
	why := file.Load()
	frames := s.callFrames(file)
	if s.opts.debug() {
		s.keep(file) // what else it tells is read when it is asked for
	} else if err := file.Close(); err != nil && why == nil {
		why = err
	}
	return &fileTable{
		file: file, demangle: demangle, frames: frames,
		inline: s.opts.Inline, names: s.opts.NamesOnly && !s.opts.debug(), why: why,
	}, nil
}

// callFrames reads the call frame information of an open file, if it is wanted.
func (s *Symbolizer) callFrames(file *elfsym.File) *unwind.Table {
	if !s.opts.CallFrames {
		return nil
	}
	frames, err := file.CallFrames()
	if err != nil { // damaged: as if there were none
		return unwind.FramePointers
	}
	return frames
}

// CallFrames returns the call frame information of the file of m, nil if the file is
// not there. It takes Options.CallFrames.
func (s *Symbolizer) CallFrames(m Mapping) *unwind.Table {
	var t Table
	switch m.Kind {
	case Anon:
		return unwind.FramePointers // code made at run time
	case User:
		t, _ = s.userTable(m) // why it is not found is told with its names
	case VDSO:
		t, _ = s.vdsoTable(m)
	}
	if f, ok := t.(*fileTable); ok {
		return f.frames
	}
	return nil
}

func keyOf(info fs.FileInfo, path string) fileKey {
	key := fileKey{size: info.Size(), modified: info.ModTime(), path: path}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		key.dev, key.inode = uint64(st.Dev), st.Ino
	}
	return key
}

// trimBuildID takes off the zero bytes at the end of a build id, so that ids can
// be compared wherever they come from: perf.data pads short ones to 20 bytes, and
// before 5.12 did not say how long they were.
func trimBuildID(id string) string {
	trimmed := strings.TrimRight(strings.ToLower(id), "0")
	if len(trimmed)%2 != 0 {
		trimmed += "0"
	}
	return trimmed
}
