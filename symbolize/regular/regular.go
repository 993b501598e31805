// Package regular opens files that a process or a recording names.
//
// Whoever runs a process, or wrote a recording, chose these names, and the mounts
// and links that they lead through. They may lead to a FIFO without a writer, on
// which a plain open waits for ever; to a device that acts on being opened; to a file
// of the kernel that waits or is emptied by being read, such as /proc/kmsg; to what
// only root may read. So:
//
//  1. The root directory, which is the caller's choice, is opened first: all names
//     and links are looked up below it, and those of procfs that lead elsewhere,
//     such as /proc/PID/fd/3, are not followed.
//  2. The file is first opened as a place only (O_PATH), which does nothing to it.
//  3. That must be a regular file of a file system that holds data.
//  4. Only then is it opened for reading, the same file whatever is at its path by
//     then, and without waiting.
//
// That is Linux. Elsewhere, where recordings are only read, less can be had of the
// operating system:
//
//   - There is no O_PATH: the file at a path is looked at, opened without waiting
//     (except on Windows) and looked at again. Whoever puts a device in its place
//     between the two looks has it opened, but not read.
//   - File systems are not told apart. None of the kernel's own with files to read is
//     known there (other than linprocfs of FreeBSD, in a place of the user's choice).
//   - NoSymlinks looks at each element of the path before the file is opened.
//   - OpenLink is an open like any other: there is no procfs.
//   - Identify knows no file.
package regular

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrNotRegular reports a path that leads to a FIFO, device, socket or
// directory, or to a file of the kernel's, such as those of procfs and sysfs.
var ErrNotRegular = errors.New("not a regular file")

// Options say how a path is looked up.
type Options struct {
	// Root is the directory below which alone the path is looked up; it is trusted
	// itself, and may be a link such as /proc/PID/root. Empty is this process's own.
	Root string

	// NoSymlinks refuses a path with a symbolic link in it.
	NoSymlinks bool

	// Check refuses a file, before it is opened for reading; nil refuses none.
	Check func(fs.FileInfo) error

	// Kernel accepts files of procfs, sysfs and the like: for a path that the
	// user gave.
	Kernel bool
}

// Open opens the regular file at path for reading, with a root below that directory.
func Open(root, path string) (*os.File, fs.FileInfo, error) {
	return OpenWith(path, Options{Root: root})
}

// OpenWith opens the regular file at path for reading.
func OpenWith(path string, opts Options) (*os.File, fs.FileInfo, error) {
	return open(path, opts)
}

// OpenLink opens the regular file to which one of the links of procfs leads that the
// kernel follows by itself: /proc/PID/map_files/RANGE, /proc/self/fd/N. The path
// must be the caller's own.
func OpenLink(path string) (*os.File, fs.FileInfo, error) {
	return openLink(path)
}

// OpenDirectory opens a directory to look files up below it, no more. The path is the
// caller's own, and may be a link of procfs.
func OpenDirectory(path string) (*os.File, fs.FileInfo, error) {
	return openDirectory(path)
}

// An Identity is what tells files apart, and whose they are.
type Identity struct {
	Dev, Inode uint64
	UID        uint32
	Links      uint64 // names that it has
}

// Identify returns the identity of a file, false where the operating system has none.
func Identify(info fs.FileInfo) (Identity, bool) { return identify(info) }

func notRegular(path string, why string) error {
	return &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("%w%s", ErrNotRegular, why)}
}
