package elfsym

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"
	"strings"

	"kprof/symbolize/regular"
)

// defaultDebugDir is where distributions install separate debug files.
const defaultDebugDir = "/usr/lib/debug"

// openDebug opens the separate debug file of f that use accepts, nil if there is
// none. A file with another build id is not taken, nor is one without any: f
// could not be told from its next version. Where f has none, the checksum in its link
// tells.
func (f *File) openDebug(use func(*elf.File) bool) *separateFile {
	switch {
	case f.path == "":
		return nil
	case len(f.buildID) < 2:
		return f.openLinked(use)
	}
	good := func(e *elf.File) bool { return bytes.Equal(buildID(e), f.buildID) && use(e) }
	for _, path := range f.debugPaths() {
		found := f.openFirst([]string{path}, func(e *elf.File) bool {
			if id := buildID(e); !bytes.Equal(id, f.buildID) {
				f.refused = cmp.Or(f.refused, error(&otherBuild{path, id}))
				return false
			}
			return use(e)
		})
		if found != nil {
			return found
		}
	}
	if f.opts.Fetch == nil {
		return nil
	}
	file, path, err := f.opts.Fetch(f.buildID)
	if err != nil {
		return nil // as if it were nowhere: DebugErr and Load tell what is missing
	}
	return elfIf(file, path, good)
}

// openLinked is openDebug by the checksum in .gnu_debuglink.
func (f *File) openLinked(use func(*elf.File) bool) *separateFile {
	_, want := f.debugLink()
	for _, path := range f.debugPaths() {
		file, info, err := regular.Open(f.opts.Root, path)
		if err != nil {
			continue
		}
		sum := crc32.NewIEEE()
		if info.Size() <= maxLinked {
			_, err = io.Copy(sum, io.NewSectionReader(file, 0, info.Size()))
		}
		if info.Size() > maxLinked || err != nil || sum.Sum32() != want {
			file.Close()
			f.refused = cmp.Or(f.refused, fmt.Errorf("debug file %s is of another build, by its checksum", path))
			continue
		}
		if found := elfIf(file, path, use); found != nil {
			return found
		}
	}
	return nil
}

// maxLinked bounds a debug file that is read for its checksum.
const maxLinked = 1 << 30

// debugPaths returns where a debug file may be, as gdb looks for it.
func (f *File) debugPaths() []string {
	dirs := f.debugDirs()
	paths := f.byBuildID(f.buildID)
	if link, _ := f.debugLink(); link != "" {
		own := filepath.Dir(f.path)
		paths = append(paths, filepath.Join(own, link), filepath.Join(own, ".debug", link))
		for _, dir := range dirs {
			paths = append(paths, filepath.Join(dir, own, link))
		}
	}
	return paths
}

// otherBuild reports a debug file that belongs to another build of a file.
type otherBuild struct {
	path string
	id   []byte
}

func (e *otherBuild) Error() string {
	if len(e.id) == 0 {
		return fmt.Sprintf("debug file %s has no build id", e.path)
	}
	return fmt.Sprintf("debug file %s is of another build, %x", e.path, e.id)
}

// without returns an error that something is missing, with the debug file that
// would have had it if that was refused.
func (f *File) without(missing error) error {
	if f.refused == nil {
		return missing
	}
	return fmt.Errorf("%w: %w", missing, f.refused)
}

func (f *File) debugDirs() []string {
	if f.opts.DebugDirs == nil {
		return []string{defaultDebugDir}
	}
	return f.opts.DebugDirs
}

// byBuildID returns where the debug file with that build id may be.
func (f *File) byBuildID(buildID []byte) []string {
	if len(buildID) < 2 {
		return nil
	}
	id := hex.EncodeToString(buildID)
	var paths []string
	for _, dir := range f.debugDirs() {
		paths = append(paths, filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug"))
	}
	return paths
}

// debugLink returns the file name in .gnu_debuglink, and the checksum of that file. The
// name is zero-terminated, and padded to four bytes.
func (f *File) debugLink() (name string, sum uint32) {
	sec := f.elf.Section(".gnu_debuglink")
	if sec == nil {
		return "", 0
	}
	data, err := sectionData(sec, 4096)
	if err != nil {
		return "", 0
	}
	name, _, ok := strings.Cut(string(data), "\x00")
	if !ok || name != filepath.Base(name) || name == "." || name == ".." {
		return "", 0
	}
	if at := len(name)/4*4 + 4; at+4 <= len(data) {
		sum = f.elf.ByteOrder.Uint32(data[at:])
	}
	return name, sum
}
