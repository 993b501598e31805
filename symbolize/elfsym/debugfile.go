package elfsym

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"io"
	"path/filepath"
	"strings"

	"kprof/symbolize/internal/regular"
)

// defaultDebugDir is where distributions install separate debug files.
const defaultDebugDir = "/usr/lib/debug"

// openDebug opens the separate debug file that holds the symbol table of f,
// nil if there is none. A file with another build id is not taken, nor is one
// without any: f could not be told from its next version.
func (f *File) openDebug() (*elf.File, io.Closer) {
	if f.path == "" || len(f.buildID) < 2 {
		return nil, nil
	}
	for _, path := range f.debugPaths() {
		file, _, err := regular.Open(f.opts.Root, path)
		if err != nil {
			continue
		}
		if checkHeader(file) == nil {
			debug, err := elf.NewFile(file)
			if err == nil && debug.SectionByType(elf.SHT_SYMTAB) != nil && bytes.Equal(buildID(debug), f.buildID) {
				return debug, file
			}
		}
		file.Close()
	}
	return nil, nil
}

// debugPaths returns where a debug file may be, as gdb looks for it.
func (f *File) debugPaths() []string {
	dirs := f.opts.DebugDirs
	if dirs == nil {
		dirs = []string{defaultDebugDir}
	}
	var paths []string
	id := hex.EncodeToString(f.buildID)
	for _, dir := range dirs {
		paths = append(paths, filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug"))
	}
	if link := f.debugLink(); link != "" {
		own := filepath.Dir(f.path)
		paths = append(paths, filepath.Join(own, link), filepath.Join(own, ".debug", link))
		for _, dir := range dirs {
			paths = append(paths, filepath.Join(dir, own, link))
		}
	}
	return paths
}

// debugLink returns the file name in .gnu_debuglink. It is zero-terminated, and
// followed by a checksum that the build id makes needless.
func (f *File) debugLink() string {
	sec := f.elf.Section(".gnu_debuglink")
	if sec == nil {
		return ""
	}
	data, err := sectionData(sec, 4096)
	if err != nil {
		return ""
	}
	name, _, ok := strings.Cut(string(data), "\x00")
	if !ok || name != filepath.Base(name) || name == "." || name == ".." {
		return ""
	}
	return name
}
