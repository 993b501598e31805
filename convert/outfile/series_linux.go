//go:build !portable

package outfile

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Series makes one output after the other, each under a name of its own with the time at
// which it is made, as perf record --switch-output names its files, but in UTC:
//
//	perf.data  ►  perf.data.2031052816301507    hundredths of a second last
//	cpu.pb.gz  ►  cpu.2031052816301507.pb.gz    where the ending tells the format
type Series struct {
	before, after string
	most          int
	made          []madeFile
}

// madeFile is a file that a Series has made.
type madeFile struct {
	name     string
	dev, ino uint64
}

// NewSeries returns a Series of outputs like name, of which ending is to stay at the end,
// that keeps so many files at most, the latest; 0 for all.
func NewSeries(name, ending string, most int) *Series {
	before, cut := strings.CutSuffix(name, ending)
	if !cut || strings.HasSuffix(before, "/") || before == "" {
		before, ending = name, ""
	}
	return &Series{before: before, after: ending, most: most}
}

// Find finds a place of which the name was nobody's, for an output that is made now.
func (s *Series) Find(now time.Time) (*Place, error) {
	const step = 10 * time.Millisecond
	for range 1000 {
		u := now.UTC()
		p, err := Find(fmt.Sprintf("%s.%s%02d%s", s.before, u.Format("20060102150405"), u.Nanosecond()/int(step), s.after))
		if err != nil {
			return nil, err
		}
		if p.st.Mode == 0 {
			return p, nil
		}
		p.Close()
		now = now.Add(step)
	}
	return nil, &os.PathError{Op: "create", Path: s.before, Err: unix.EEXIST}
}

// Made counts the file at a place, which is not closed yet, in as the latest, and removes the oldest ones that are
// too many: nothing that is not what was made. One that somebody has moved or removed is not counted.
func (s *Series) Made(p *Place) error {
	var st unix.Stat_t
	if err := unix.Fstatat(p.dir, p.base, &st, unix.AT_SYMLINK_NOFOLLOW); errors.Is(err, unix.ENOENT) {
		return nil
	} else if err != nil {
		return &os.PathError{Op: "stat", Path: p.name, Err: err}
	}
	s.made = append(s.made, madeFile{p.name, uint64(st.Dev), st.Ino})
	var errs []error
	for s.most > 0 && len(s.made) > s.most {
		errs = append(errs, s.made[0].remove())
		s.made = s.made[1:]
	}
	return errors.Join(errs...)
}

// Drop removes the file at a place, which is not closed yet, as it is of no use: it is not counted.
func (s *Series) Drop(p *Place) error {
	if err := unix.Unlinkat(p.dir, p.base, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return &os.PathError{Op: "remove", Path: p.name, Err: err}
	}
	return nil
}

func (m *madeFile) remove() error {
	p, err := Find(m.name)
	if errors.Is(err, unix.ENOENT) {
		return nil // with its directory
	} else if err != nil {
		return err
	}
	defer p.Close()
	if p.st.Mode == 0 || uint64(p.st.Dev) != m.dev || p.st.Ino != m.ino {
		return nil // somebody has taken it away
	}
	if err := unix.Unlinkat(p.dir, p.base, 0); err != nil && !errors.Is(err, unix.ENOENT) {
		return &os.PathError{Op: "remove", Path: m.name, Err: err}
	}
	return nil
}
