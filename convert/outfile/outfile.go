// Package outfile writes files that only their owner can read, where nobody who may
// write to the directory too has a hand in what is written.
//
// A Place is found before there is anything to write, and means the same file until it
// is written: links that others have put in the way are refused, a file that is there
// is replaced by a whole one, and pipes and devices are written as they are.
package outfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
)

// private is the mode of all outputs. They name what ran on the machine, and the
// addresses of the kernel in them undo the randomization of its layout.
const private = 0o600

// namesFile says what is wrong with a name that ends as those of directories do: open(2) takes it
// for nothing else.
func namesFile(name string) error {
	if name != "" && os.IsPathSeparator(name[len(name)-1]) {
		return fmt.Errorf("%s is the name of a directory", name)
	}
	return nil
}

// besideName is a name for what takes the place of a file, which nobody can have made before. It has
// less than the 255 bytes that file systems take.
func besideName(base string) string {
	return strings.ToValidUTF8(base[:min(len(base), 200)], "") + "." + strings.ToLower(rand.Text()[:10]) + ".tmp"
}

// Name is the name of the output, as given to Find.
func (p *Place) Name() string { return p.name }

// Write has the output written, and closes the place. A file is written without a name
// and gets one when it is whole, so that nothing half-written is ever seen and what was
// there before is not lost; a pipe, a device or a descriptor is written as it is, which
// is what stream says. What opens and names the output is called by way of privileged,
// for those who have the rights to it at times only; nil just calls it.
func (p *Place) Write(privileged func(func() error) error, write func(f *os.File, stream bool) error) error {
	defer p.Close()
	if privileged == nil {
		privileged = func(f func() error) error { return f() }
	}
	var stream, f *os.File
	var publish func() error
	err := privileged(func() (err error) {
		if stream, err = p.Stream(); err != nil || stream != nil {
			return err
		}
		f, publish, err = p.Replace()
		return err
	})
	if err == nil && stream != nil {
		return errors.Join(write(stream, true), stream.Close())
	}
	if err != nil {
		return err
	}
	if err = write(f, false); err == nil {
		err = privileged(publish)
	}
	closed := f.Close()
	if errors.Is(closed, os.ErrClosed) {
		closed = nil // by publish
	}
	return errors.Join(err, closed)
}
