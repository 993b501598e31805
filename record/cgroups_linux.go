package record

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// cgroups notes which of the cgroups recorded are removed while a session runs. What is made
// anew at the path of one, as where a service starts again, is another, of which its counters
// count nothing.
type cgroups struct {
	checked time.Time
	removed []string
	over    bool // none is left
}

// cgroupInterval is how often it is asked whether they are there.
const cgroupInterval = 2 * time.Second

// maxCgroupNotes bounds those that are reported by name.
const maxCgroupNotes = 20

// look asks, and reports whether none is left of a session that is of cgroups.
func (c *cgroups) look(s *Session, now time.Time) (over bool) {
	all := s.opts.Target.Cgroups
	if len(all) == 0 || now.Sub(c.checked) < cgroupInterval {
		return false
	}
	c.checked = now
	var left []*os.File
	for _, dir := range all {
		if isRemoved(dir) {
			c.removed = append(c.removed, dir.Name())
		} else {
			left = append(left, dir)
		}
	}
	if c.over = len(left) == 0; !c.over && len(left) < len(all) {
		s.opts.Target.Cgroups = left // a CPU that comes has counters of these
	}
	return c.over
}

// isRemoved reports whether the directory of a cgroup was removed: then nothing is in it any
// more (kernel/cgroup/cgroup.c, cgroup_destroy_locked), while its count of links stays 2.
func isRemoved(dir *os.File) bool {
	var st unix.Stat_t
	return unix.Fstatat(int(dir.Fd()), "cgroup.procs", &st, unix.AT_SYMLINK_NOFOLLOW) == unix.ENOENT
}

// reports are the notes of what was removed.
func (c *cgroups) reports() (notes []string) {
	for i, name := range c.removed {
		if i == maxCgroupNotes {
			notes = append(notes, fmt.Sprintf("%d more cgroups were removed while recording", len(c.removed)-i))
			break
		}
		notes = append(notes, fmt.Sprintf("cgroup %s was removed while recording: it is recorded up to there", name))
	}
	if c.over {
		notes = append(notes, "the recording has ended, as no cgroup is left of those to record")
	}
	return notes
}
