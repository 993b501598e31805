package synth

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"kprof/perfevent/abi"
	"kprof/perfevent/procfs"
	"kprof/symbolize/regular"
)

// fileID is a file as /proc/PID/maps and MMAP2 identify it.
type fileID struct {
	maj, min uint32
	ino      uint64
}

// maps writes what a thread has mapped and reports whether it has anything.
func (s *synth) maps(now uint64, pid, tid int) (bool, error) {
	s.procPath(pid, "/task/")
	s.path = append(strconv.AppendInt(s.path, int64(tid), 10), "/maps"...)
	b, ok := s.read(s.path)
	if !ok {
		return false, nil
	}
	any := len(b) > 0
	data := s.opts.Attr.Flags&abi.FlagMmapData != 0
	for rest := b; len(rest) > 0; {
		var line []byte
		line, rest = cutLine(rest)
		var m mapping
		if !m.parse(line) {
			return any, fmt.Errorf("synthesize process %d: odd line in /proc/%d/maps: %q", pid, pid, line)
		}
		misc := abi.MiscUser
		if m.prot&unix.PROT_EXEC == 0 {
			if !data || m.prot&unix.PROT_READ == 0 {
				continue
			}
			misc |= abi.MiscMmapData
		}
		if err := s.mmap(now, pid, tid, misc, &m, s.buildID(pid, &m), nil); err != nil {
			return any, err
		}
	}
	return any, nil
}

// anonymous is the kernel's name for memory without a file, in records.
var anonymous = []byte("//anon")

// parse reads a line of /proc/PID/maps:
//
//	7f0c1000-7f0c2000 r-xp 00001000 fe:01 1234       /usr/lib/libc.so.6
//
// The name aliases line, and is unescaped in it.
func (m *mapping) parse(line []byte) bool {
	var addrs, perms, off, dev, ino []byte
	rest := line
	for _, f := range []*[]byte{&addrs, &perms, &off, &dev, &ino} {
		*f, rest = cutField(rest)
	}
	start, end, ok := bytes.Cut(addrs, []byte("-"))
	maj, min, ok2 := bytes.Cut(dev, []byte(":"))
	if !ok || !ok2 || len(perms) < 4 {
		return false
	}
	var bad bool
	number := func(b []byte, base int) uint64 {
		var v uint64
		for _, c := range b {
			d := uint64(99)
			switch {
			case '0' <= c && c <= '9':
				d = uint64(c - '0')
			case 'a' <= c && c <= 'f':
				d = uint64(c-'a') + 10
			}
			if d >= uint64(base) {
				bad = true
				return 0
			}
			v = v*uint64(base) + d
		}
		return v
	}
	m.addr = number(start, 16)
	m.len = number(end, 16) - m.addr
	m.off = number(off, 16)
	m.file = fileID{uint32(number(maj, 16)), uint32(number(min, 16)), number(ino, 10)}
	for i, bit := range []uint32{unix.PROT_READ, unix.PROT_WRITE, unix.PROT_EXEC} {
		if perms[i] != '-' {
			m.prot |= bit
		}
	}
	m.flags = unix.MAP_PRIVATE
	if perms[3] == 's' {
		m.flags = unix.MAP_SHARED
	}
	m.name = unescape(bytes.TrimLeft(rest, " "))
	if len(m.name) == 0 || bytes.HasPrefix(m.name, []byte("[anon:")) || bytes.HasPrefix(m.name, []byte("[anon_shmem:")) {
		m.name = anonymous // names of memory are prctl's, and not in records
	}
	return !bad
}

// unescape puts back the newlines that /proc writes as \012, in place.
func unescape(b []byte) []byte {
	esc := []byte(`\012`)
	i := bytes.Index(b, esc)
	if i < 0 {
		return b
	}
	return append(b[:i], bytes.ReplaceAll(b[i:], esc, []byte("\n"))...)
}

// maxBuildID is how much of a build id a record holds.
const maxBuildID = 20

// buildID is the build id of a mapped file when the side-band has them in its
// records, and nil when it has none.
func (s *synth) buildID(pid int, m *mapping) []byte {
	if s.opts.Attr.Flags&abi.FlagBuildID == 0 || m.file.ino == 0 || len(m.name) == 0 || m.name[0] != '/' {
		return nil
	}
	id, ok := s.buildIDs[m.file]
	if !ok {
		id = readBuildID(s.opts.Root, pid, m)
		s.buildIDs[m.file] = id
	}
	return id
}

// readBuildID opens the file that is mapped: itself, which root may even when
// it has been deleted, or what has its name in the process's root, or in ours: the
// process may have ended. It chose its mounts and what is at the path by now.
func readBuildID(root string, pid int, m *mapping) []byte {
	for _, place := range []struct {
		open func(root, path string) (*os.File, fs.FileInfo, error)
		root string
		path string
		ours bool
	}{
		{open: openLink, path: fmt.Sprintf("%s/proc/%d/map_files/%x-%x", root, pid, m.addr, m.addr+m.len)},
		{open: openExact, root: fmt.Sprintf("%s/proc/%d/root", root, pid), path: string(m.name)},
		{open: openExact, root: root, path: string(m.name), ours: true},
	} {
		f, _, err := place.open(place.root, place.path)
		if err != nil {
			continue
		}
		if isMapped(f, m, place.ours) {
			defer f.Close()
			return elfBuildID(f)
		}
		f.Close()
	}
	return nil
}

// openExact opens a path as the kernel reported it: no symbolic link was in it.
func openExact(root, path string) (*os.File, fs.FileInfo, error) {
	return regular.OpenWith(path, regular.Options{Root: root, NoSymlinks: true})
}

func openLink(_, path string) (*os.File, fs.FileInfo, error) { return regular.OpenLink(path) }

// isMapped reports whether f is the file of m: by now the process may have
// another one at the address, and its name may have gone to a newer one. Where
// stat has other devices than maps have, as on overlayfs and btrfs, inodes cannot
// be compared and the name has to do, which the process's own root may shorten;
// but not where f was found by its name in our root.
func isMapped(f *os.File, m *mapping, ours bool) bool {
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil {
		return false
	}
	if unix.Major(st.Dev) == m.file.maj && unix.Minor(st.Dev) == m.file.min {
		return st.Ino == m.file.ino
	}
	if ours {
		return false
	}
	target, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	return err == nil && strings.HasSuffix(strings.TrimSuffix(target, " (deleted)"), string(m.name))
}

// maxNotes bounds what is read of a file's notes, as the kernel does (a page,
// lib/buildid.c); some linkers put more there.
const maxNotes = 64 << 10

func elfBuildID(r io.ReaderAt) []byte {
	f, err := elf.NewFile(r)
	if err != nil {
		return nil
	}
	for _, p := range f.Progs {
		if p.Type != elf.PT_NOTE {
			continue
		}
		b := make([]byte, min(p.Filesz, maxNotes))
		n, _ := p.ReadAt(b, 0)
		if id := procfs.BuildID(b[:n], p.Align, f.ByteOrder); id != nil {
			return id
		}
	}
	return nil
}
