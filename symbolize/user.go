package symbolize

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"kprof/symbolize/elfsym"
	"kprof/symbolize/mapping"
	"kprof/symbolize/process"
	"kprof/symbolize/regular"
	"kprof/symbolize/unwind"
)

// fileKey tells files apart, under whatever path they are reached.
type fileKey struct {
	dev, inode uint64
	size       int64
	modified   time.Time
	path       string // a debug file is looked for beside it
}

// userTable names addrs, offsets in the file of m.
func (s *Symbolizer) userTable(ctx context.Context, m Mapping, addrs []uint64) (Table, error) {
	t, err := s.userFile(m)
	if t == nil {
		return nil, err
	}
	if t.jit != nil {
		return t.jit.byOffset(ctx, addrs, &s.supplied)
	}
	return t, err
}

// userFile finds the file of m: kept since it was mapped, through a process that
// has it mapped, at its recorded path, in perf's cache of build ids.
func (s *Symbolizer) userFile(m Mapping) (*fileTable, error) {
	if id := trimBuildID(m.BuildID); id != "" {
		s.mu.Lock()
		t := s.builds[id]
		s.mu.Unlock()
		if t != nil {
			return t, t.why
		}
	}
	if err := s.checkKnown(m); err != nil {
		return nil, err
	}
	var why error
	places := s.places(m)
	if s.opts.Retained != nil {
		path, err := s.opts.Retained.Retained(m.PID, m.Start, m.Path())
		switch {
		case path != "":
			places = slices.Insert(places, 0, place{path: path, link: true})
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
		var id *BuildIDError
		if p.link && !errors.As(err, &id) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			break // it is the file that was mapped: what is elsewhere is another one
		}
	}
	if why == nil {
		why = fmt.Errorf("find %q: %w", m.Path(), fs.ErrNotExist)
	}
	if t := s.servedTable(m); t != nil {
		return t, t.why
	}
	return nil, s.elsewhere(why)
}

// checkKnown returns why the file of m cannot be told from others on this machine, nil if it can.
func (s *Symbolizer) checkKnown(m Mapping) error {
	switch {
	case !s.opts.Foreign || s.opts.Root != "" || m.BuildID != "":
		return nil
	case m.Builds != "":
		return severalBuilds(m)
	}
	return fmt.Errorf("%w, and without a build id", s.errForeign())
}

// foreign adds to why something is not this machine's that it is another's.
func (s *Symbolizer) foreign(why error) error {
	if !s.opts.Foreign {
		return why
	}
	return fmt.Errorf("%w: %w", s.errForeign(), why)
}

// errForeign is what is wrong with a Foreign recording.
func (s *Symbolizer) errForeign() error {
	if s.opts.Unplaced {
		return ErrUnplaced
	}
	return ErrForeign
}

// elsewhere adds to why a file was not found, or another one, that it is on another
// machine, or was to be in Options.Root.
func (s *Symbolizer) elsewhere(why error) error {
	var other *BuildIDError
	missing := errors.Is(why, fs.ErrNotExist)
	switch {
	case s.opts.Root == "" && (missing || errors.As(why, &other)):
		return s.foreign(why)
	case s.opts.Root != "" && missing:
		return fmt.Errorf("%w: %w", ErrNotInRoot, why)
	}
	return why
}

// servedTable returns the file of m as a debuginfod server has it, nil if none
// does.
func (s *Symbolizer) servedTable(m Mapping) *fileTable {
	f, path, err := s.servers.fetchRecorded(m.BuildID, "executable")
	if err != nil {
		return nil
	}
	f.Close() // it is opened again as any other
	t, err := s.file(place{path: path}, m)
	if err != nil {
		return nil
	}
	return t
}

// fetchDebug returns what brings a debug file of the file of m, by its build id, where none is found on
// this machine: from the root directory of its process, which may be in a container, from where perf
// keeps it beside its file (perf's build_id_cache__add), or from a debuginfod server.
func (s *Symbolizer) fetchDebug(m Mapping) func(buildID []byte) (*os.File, string, error) {
	return func(buildID []byte) (*os.File, string, error) {
		id := hex.EncodeToString(buildID)
		if f, path, err := s.debugOfProcess(m.PID, id); err == nil {
			return f, path, nil
		}
		if cache := s.opts.BuildIDCache; cache != "" && len(buildID) > 1 {
			path := filepath.Join(cache, ".build-id", id[:2], id[2:], "debug")
			if f, err := openELF("", path, id); err == nil {
				return f, path, nil
			}
		}
		return s.servers.fetch(id, "debuginfo")
	}
}

// debugOfProcess opens the debug file with a build id that is below the root directory of a process
// which lives, or was seen while it did.
func (s *Symbolizer) debugOfProcess(pid int, id string) (f *os.File, path string, err error) {
	if pid <= 0 || s.opts.Foreign || s.opts.Root != "" || len(id) < 4 {
		return nil, "", fs.ErrNotExist
	}
	var root string
	if p, err := process.Open(pid); err == nil {
		defer p.Close()
		root = p.Path("root")
	} else if s.opts.Retained != nil {
		root, _, _ = s.opts.Retained.RootOf(pid)
	}
	if root == "" {
		return nil, "", fs.ErrNotExist
	}
	for _, dir := range s.debugDirs() {
		path = filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug")
		if f, err = openELF(root, path, id); err == nil {
			return f, path, nil
		}
	}
	return nil, "", cmp.Or(err, fs.ErrNotExist)
}

// openELF opens a file with a build id.
func openELF(root, path, id string) (*os.File, error) {
	f, _, err := regular.Open(root, path)
	if err != nil {
		return nil, err
	}
	if err := checkELF(f, id); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// places lists where the file of m may be, the surest first.
func (s *Symbolizer) places(m Mapping) []place {
	var places []place
	if strings.HasPrefix(m.Path(), "/") {
		if s.opts.Root == "" && !s.opts.Foreign && m.PID > 0 {
			// The process may live in another mount namespace, or the file may
			// have been replaced or removed since it was mapped.
			if path, ok := process.MapFile(m.PID, m.Start, m.Limit, m.Path()); ok {
				places = append(places, place{path: path, link: true})
			}
			places = append(places, place{root: fmt.Sprintf("/proc/%d/root", m.PID), path: m.Path(), exact: true})
		}
		if !m.Deleted() || m.BuildID != "" {
			places = append(places, place{root: s.opts.Root, path: m.Path(), exact: s.opts.Root == "" && !s.opts.Foreign && m.BuildID == ""})
		}
	}
	if s.opts.BuildIDCache != "" {
		for _, id := range buildIDsOf(m.BuildID) {
			dir := filepath.Join(s.opts.BuildIDCache, ".build-id", id[:2], id[2:])
			places = append(places, place{path: filepath.Join(dir, "elf")}, place{path: dir})
		}
	}
	return places
}

// file opens the file at p and reads its symbols, if it is the recorded one.
func (s *Symbolizer) file(p place, m Mapping) (*fileTable, error) {
	// Of a program, the build id or the kernel's word says that it is the one that
	// ran; what a process tells of its own code, it alone may have written.
	mine := func(info fs.FileInfo) error { return s.ownerOf(m.PID).Check(info) }
	var before func(fs.FileInfo) error
	if process.IsDumpName(m.Path()) {
		before = mine
	}
	f, info, err := p.open(m.Path(), before)
	if err != nil {
		return nil, err
	}
	if isDump := readsAsDump(f); isDump || process.IsDumpName(m.Path()) {
		err := mine(info)
		if isDump && !process.IsDumpName(m.Path()) {
			err = fmt.Errorf("%w: a jitdump is called jit-PID.dump", ErrUntrusted)
		}
		if err != nil {
			f.Close()
			return nil, err
		}
	}
	loaded := false
	key := keyOf(info, m.Path())
	t, err := s.files.get(key, func() (*fileTable, error) {
		if t := s.opts.Files.get(key, &s.opts); t != nil {
			return t, nil
		}
		loaded = true
		t, err := s.load(f, m)
		s.opts.Files.put(key, &s.opts, t)
		return t, err
	})
	if !loaded {
		f.Close() // known before
	}
	if err != nil {
		return nil, err
	}
	var found string
	if t.file != nil {
		found = hex.EncodeToString(t.file.BuildID())
	}
	if err := p.checkBuild(m, info, found); err != nil {
		return nil, err
	}
	id := trimBuildID(m.BuildID)
	if id == "" {
		return t, nil
	}
	s.mu.Lock()
	s.builds[id] = t
	s.mu.Unlock()
	return t, nil
}

// readsAsDump reports whether f is a jitdump.
func readsAsDump(f *os.File) bool {
	var magic [4]byte
	_, err := f.ReadAt(magic[:], 0)
	return err == nil && isJITDump(magic[:])
}

// load reads the ELF file or jitdump f of m. A file that can be read but has no symbols
// gives a table that says so.
func (s *Symbolizer) load(f *os.File, m Mapping) (*fileTable, error) {
	if readsAsDump(f) {
		dump, err := openJITDump(f)
		if err != nil {
			f.Close()
			return nil, err
		}
		s.keep(f) // it is read anew at each need
		return &fileTable{jit: dump}, nil
	}
	demangle := newDemangler(s.opts.Demangle)
	file, err := elfsym.FromFile(f, m.Path(), elfsym.Options{
		Root:      s.opts.Root,
		DebugDirs: s.opts.DebugDirs,
		Demangle:  demangle.convert,
		DWARF:     s.opts.debug(),
		NamesOnly: s.opts.NamesOnly && !s.opts.debug(),
		Fetch:     s.fetchDebug(m),
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
	if !s.enter() {
		return nil
	}
	defer s.leave()
	if s.believesRecorded() {
		if t := s.opts.Recorded.unwindOf(&m); t != nil {
			return t
		}
	}
	t := s.foundFrames(m)
	if t == nil {
		return s.opts.Recorded.unwindOf(&m)
	}
	s.opts.Keep.keepUnwind(&m, t)
	return t
}

// foundFrames is CallFrames of what this machine has.
func (s *Symbolizer) foundFrames(m Mapping) *unwind.Table {
	switch m.Kind {
	case mapping.Anon:
		return unwind.FramePointers // code made at run time
	case mapping.User:
		if t, _ := s.userFile(m); t != nil { // why it is not found is told with its names
			return t.frames
		}
	case mapping.VDSO:
		t, _ := s.vdsoTable(m)
		if f, ok := t.(*fileTable); ok {
			return f.frames
		}
	}
	return nil
}

func keyOf(info fs.FileInfo, path string) fileKey {
	id, _ := regular.Identify(info)
	return fileKey{dev: id.Dev, inode: id.Inode, size: info.Size(), modified: info.ModTime(), path: path}
}

// sameBuildID reports whether the build id found is the recorded one, of which
// perf.data has room for 20 bytes: a longer one (SHA-256 has 32) was cut.
func sameBuildID(recorded, found string) bool {
	const room = 2 * 20 // digits
	r, f := trimBuildID(recorded), trimBuildID(found)
	return r == f || len(recorded) == room && len(f) > room && f[:room] == strings.ToLower(recorded)
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

// buildIDsOf returns the build ids, of two bytes at least, under which the file with a recorded
// one may be kept: that which was recorded, the last byte of which may well be zero, and then what
// it is without the zeros that it may have been padded with. Profiles of pprof have any text in its
// place, which is to be no part of a path.
func buildIDsOf(recorded string) []string {
	trimmed := trimBuildID(recorded)
	if _, err := hex.DecodeString(trimmed); err != nil || len(trimmed) < 4 {
		return nil
	}
	if whole := strings.ToLower(recorded); whole != trimmed {
		return []string{whole, trimmed}
	}
	return []string{trimmed}
}
