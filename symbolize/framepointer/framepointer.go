// Package framepointer says which programs do without frame pointers, so that their stacks
// have to be copied to be walked.
package framepointer

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"kprof/symbolize/elfsym"
	"kprof/symbolize/regular"
)

// Programs remembers what is known of files. The zero value knows nothing. It may be used
// concurrently.
type Programs struct {
	mu    sync.Mutex
	known map[identity]bool
}

// maxKnown bounds the files that are remembered.
const maxKnown = 1 << 12

// PathLacks reports whether most functions of the program at path do without frame
// pointers, and can be walked otherwise. Of a script its interpreter counts.
func (p *Programs) PathLacks(path string) (bool, error) {
	const maxScripts = 4 // that an interpreter may be in turn, as the kernel has it
	for range maxScripts {
		f, info, err := regular.Open("", path)
		if err != nil {
			return false, err
		}
		interpreter := interpreterOf(f)
		if interpreter == "" {
			return p.lacks(f, info, path)
		}
		if err := f.Close(); err != nil {
			return false, err
		}
		path = interpreter
	}
	return false, fmt.Errorf("%s: interpreters of interpreters", path)
}

// ProcessLacks does so of the program that a process runs.
func (p *Programs) ProcessLacks(pid int) (bool, error) {
	path := fmt.Sprintf("/proc/%d/exe", pid)
	if info, err := os.Stat(path); err == nil { // most programs begin more than once
		if lacks, known := p.of(info); known {
			return lacks, nil
		}
	}
	f, info, err := regular.OpenLink(path)
	if err != nil {
		return false, err
	}
	return p.lacks(f, info, path)
}

// interpreterOf returns the path in the first line of a script, "" if f is none.
func interpreterOf(f io.ReaderAt) string {
	var head [256]byte // as much as the kernel reads
	n, _ := f.ReadAt(head[:], 0)
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	rest, script := strings.CutPrefix(line, "#!")
	if fields := strings.Fields(rest); script && len(fields) > 0 {
		return fields[0]
	}
	return ""
}

// identity tells programs apart: a file that is written anew is another one.
type identity struct {
	regular.Identity
	size     int64
	modified time.Time
}

func identify(info fs.FileInfo) (identity, bool) {
	id, ok := regular.Identify(info)
	return identity{id, info.Size(), info.ModTime()}, ok
}

// of returns what is known of a file.
func (p *Programs) of(info fs.FileInfo) (lacks, known bool) {
	id, identified := identify(info)
	p.mu.Lock()
	defer p.mu.Unlock()
	lacks, known = p.known[id]
	return lacks, known && identified
}

// lacks looks at a file, which it closes.
func (p *Programs) lacks(f *os.File, info fs.FileInfo, path string) (lacks bool, err error) {
	if lacks, known := p.of(info); known {
		return lacks, f.Close()
	}
	id, identified := identify(info)
	file, err := elfsym.FromFile(f, path, elfsym.Options{})
	if err != nil {
		return false, err
	}
	defer file.Close()
	if lacks, err = file.LacksFramePointers(); err != nil || !identified {
		return lacks, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) >= maxKnown {
		p.known = map[identity]bool{}
	}
	p.known[id] = lacks
	return lacks, nil
}
