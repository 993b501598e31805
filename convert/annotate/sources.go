package annotate

import (
	"bufio"
	"io"
	"io/fs"
	"os"
	"strings"
)

// Sources are files of source code below a directory. What leads out of it is not read.
type Sources struct {
	root  *os.Root
	files map[string][]string // lines, nil of what is not there
}

// maxSource is how many bytes of a source file are read.
const maxSource = 16 << 20

// OpenSources opens a directory of sources, such as a kernel's tree. Close closes it.
func OpenSources(dir string) (*Sources, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Sources{root: root, files: map[string][]string{}}, nil
}

// Close closes the directory.
func (s *Sources) Close() error { return s.root.Close() }

// Text returns a line of a file, whose path is the one that it was compiled from: as much of
// its end is looked for as is there, of /build/linux/fs/read_write.c first build/linux/fs,
// then linux/fs, fs, and the directory itself. It is "" if there is none.
func (s *Sources) Text(file string, line int) string {
	lines, known := s.files[file]
	if !known {
		lines = s.read(file)
		s.files[file] = lines
	}
	if line < 1 || line > len(lines) {
		return ""
	}
	return strings.TrimSpace(lines[line-1])
}

func (s *Sources) read(file string) []string {
	for rest := strings.TrimPrefix(file, "/"); rest != ""; {
		if fs.ValidPath(rest) {
			if lines := s.readAt(rest); lines != nil {
				return lines
			}
		}
		_, after, more := strings.Cut(rest, "/")
		if !more {
			break
		}
		rest = after
	}
	return nil
}

// readAt reads a regular file, nil if there is none.
func (s *Sources) readAt(path string) []string {
	if st, err := s.root.Stat(path); err != nil || !st.Mode().IsRegular() {
		return nil
	}
	f, err := s.root.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close() // it is only read
	lines := []string{}
	in := bufio.NewScanner(io.LimitReader(f, maxSource))
	in.Buffer(nil, maxSource)
	for in.Scan() {
		lines = append(lines, in.Text())
	}
	return lines
}
