//go:build linux

package perfdata_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata"
)

// TestLiveDirectoryMissing: that the last file of perf's is not there is told by the command that
// wrote it, where that says how many there are.
func TestLiveDirectoryMissing(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	for _, test := range []struct {
		args  []string
		known bool
	}{
		{[]string{"-a", "--threads"}, true},
		{[]string{"-a", "--threads=cpu"}, true},
		{[]string{"-a", "--threads=core"}, false},
		{[]string{"-C", "0", "--threads"}, false},
	} {
		dir := filepath.Join(t.TempDir(), "perf.data")
		args := append([]string{"record", "-q", "-e", "cpu-clock", "-o", dir}, test.args...)
		livetest.Run(t, "perf", append(args, "--", "true", "--threads=core", "-C1")...)
		if _, err := walkDir(t, dir); err != nil {
			t.Errorf("%v: whole: %v", test.args, err)
		}
		parts, err := filepath.Glob(filepath.Join(dir, "data.*"))
		if err != nil || len(parts) == 0 {
			t.Fatal("no files: ", err)
		}
		last := fmt.Sprintf("data.%d", len(parts)-1)
		if err := os.Remove(filepath.Join(dir, last)); err != nil {
			t.Fatal(err)
		}
		if len(parts) == 1 {
			continue // that none is there is told in any case
		}
		_, err = walkDir(t, dir)
		var te *perfdata.TruncatedError
		if told := errors.As(err, &te) && te.Reason == "the file "+last+" is missing"; told != test.known || !told && err != nil {
			t.Errorf("%v without %s: %v", test.args, last, err)
		}
	}
}
