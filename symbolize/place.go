package symbolize

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kprof/symbolize/process"
	"kprof/symbolize/regular"
)

// place is somewhere a recorded file may be.
type place struct {
	root, path string
	link       bool // path is one of procfs that the kernel follows, not a recorded one
	exact      bool // the kernel told the path here: no symbolic link was in it
}

func (p place) String() string {
	if p.root == "" {
		return p.path
	}
	return filepath.Join(p.root, p.path)
}

// open opens the file at p, which has the recorded path, if check does not refuse it.
func (p place) open(recorded string, check func(fs.FileInfo) error) (*os.File, fs.FileInfo, error) {
	if p.link {
		return regular.OpenLink(p.path)
	}
	return regular.OpenWith(p.path, regular.Options{
		Root: p.root, NoSymlinks: p.exact || process.IsDumpName(recorded), Check: check,
	})
}

// checkBuild returns an error if a file at p, with the build id found in it, is not that of m, as
// far as the recording tells it. Of several builds it is the one with the recorded inode. (Devices
// do not compare: those of maps are others than stat's on overlayfs and btrfs.)
func (p place) checkBuild(m Mapping, info fs.FileInfo, found string) error {
	if m.Builds != "" && !p.link {
		id, ok := regular.Identify(info)
		isRecorded := func(build string) bool { return sameBuildID(build, found) }
		if !ok || m.ID.Inode == 0 || id.Inode != m.ID.Inode || !slices.ContainsFunc(strings.Fields(m.Builds), isRecorded) {
			return severalBuilds(m)
		}
	}
	if trimBuildID(m.BuildID) != "" && !sameBuildID(m.BuildID, found) {
		return &BuildIDError{Path: p.String(), Recorded: m.BuildID, Found: found}
	}
	return nil
}

func severalBuilds(m Mapping) error {
	return &SeveralBuildsError{Path: m.Path(), Builds: 1 + strings.Count(m.Builds, " ")}
}

// A Retainer has files open since they were mapped. record/symbols has one.
type Retainer interface {
	// Retained returns by which path the file can be opened that a process mapped at
	// an address, from another path; empty if it is not known. An error says that
	// the file is known, and why it was not retained.
	Retained(pid int, start uint64, recorded string) (path string, err error)

	// UserOf returns the user of a process that was seen while it lived.
	UserOf(pid int) (uid uint32, ok bool)

	// RootOf returns the root directory of a process that was seen while it lived, "" for
	// this process's own, and its number in its own pid namespace.
	RootOf(pid int) (root string, inner int, ok bool)
}

// ownerOf looks at process pid, or asks who it was when its files were retained.
func (s *Symbolizer) ownerOf(pid int) process.Owner {
	if s.opts.Root != "" || s.opts.Foreign {
		return process.Owner{}
	}
	if p, err := process.Open(pid); err == nil {
		defer p.Close()
		return process.Owner{Known: true, UID: p.UID}
	}
	if s.opts.Retained != nil {
		if uid, ok := s.opts.Retained.UserOf(pid); ok {
			return process.Owner{Known: true, UID: uid}
		}
	}
	return process.Owner{}
}
