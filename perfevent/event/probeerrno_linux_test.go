package event

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kprof/perfevent/tracefs"
)

// TestExplainUserPlace: of a function's name where the kernel wants an offset it is said how functions
// are named.
func TestExplainUserPlace(t *testing.T) {
	const hint = "uprobe:PATH:SYMBOL"
	for line, want := range map[string]bool{
		"r:g/n /bin/x:main ret=$retval": true, "p:g/n ./x:main": true,
		"p:g/n /bin/x:0x1139 a=%nosuch": false, "p:g/n /bin/x:4410 a=%nosuch": false, "p:g/n vfs_read a=%nosuch": false,
	} {
		err := new(Resolver).explainProbe(&tracefs.ProbeError{Definition: line, Err: unix.EINVAL}, Probe{Raw: line})
		if got := strings.Contains(err.Error(), hint); got != want {
			t.Errorf("%s: %v", line, err)
		}
	}
}
