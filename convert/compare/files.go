package compare

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

	"kprof/convert/stacks"
	"kprof/symbolize"
	"kprof/symbolize/elfsym"
)

// codeFile is an ELF file with functions of a side.
type codeFile struct {
	user bool // a program or library
	open func() (*elfsym.File, error)
}

// named is a file that the Options name.
func named(path string, user bool) codeFile {
	return codeFile{user, func() (*elfsym.File, error) { return elfsym.OpenCode(path, elfsym.Options{DWARF: true}) }}
}

// withID is a file that must have a build id.
func withID(path, buildID string, user bool) codeFile {
	file := named(path, user)
	return codeFile{user, func() (*elfsym.File, error) {
		f, err := file.open()
		if err != nil {
			return nil, err
		}
		if id := hex.EncodeToString(f.BuildID()); !strings.HasPrefix(id, buildID) {
			f.Close()
			return nil, os.ErrNotExist
		}
		return f, nil
	}}
}

// filesOf lists what may be the file of a mapping with a build id: first the one with its code, from
// where its names are; then its debug file, which has at least the sizes of its functions.
func (c *Comparison) filesOf(m *stacks.Mapping, names *symbolize.Symbolizer, root string) []codeFile {
	user := m.Kind == stacks.KindUser
	var files []codeFile
	if code, err := names.Code(*m); err == nil {
		files = append(files, codeFile{user, code.Open})
	}
	if len(m.BuildID) > 2 {
		dir, rest := m.BuildID[:2], m.BuildID[2:]
		files = append(files, withID(filepath.Join(root, "/usr/lib/debug/.build-id", dir, rest+".debug"), m.BuildID, user))
		if cache := c.o.BuildIDCache; cache != "" {
			files = append(files, withID(filepath.Join(cache, ".build-id", dir, rest, "elf"), m.BuildID, user))
		}
	}
	if user && strings.HasPrefix(m.File, "/") {
		files = append(files, withID(filepath.Join(root, m.File), m.BuildID, user))
	}
	return files
}

// release closes what codeOf has left open for files to be read.
func (c *Comparison) release() {
	for _, s := range c.open {
		s.Close() // only read
	}
	c.open = nil
}
