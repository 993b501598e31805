//go:build !portable

package convert

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"kprof/perfevent/perfdata"
)

// recordedHere reports whether a recording was made by this kernel since it
// booted, so that its own symbols and processes may be asked for names.
func recordedHere(f *perfdata.Features, written time.Time) bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	if f.Hostname != unix.ByteSliceToString(u.Nodename[:]) || f.OSRelease != unix.ByteSliceToString(u.Release[:]) {
		return false
	}
	var si unix.Sysinfo_t
	if unix.Sysinfo(&si) != nil {
		return false
	}
	return written.After(time.Now().Add(-time.Duration(si.Uptime) * time.Second))
}

// spoolLimit is how much a file that is unpacked into f may take: half of what is
// free there.
func spoolLimit(f *os.File) (int64, error) {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &fs); err != nil {
		return 0, err
	}
	return int64(fs.Bavail) * int64(fs.Bsize) / 2, nil
}
