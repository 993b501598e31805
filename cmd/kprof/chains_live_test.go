//go:build linux

package main

import (
	"bytes"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// TestLiveChainParts: callchains have the part that was asked for, by what perf reads, which
// reads the records of switches too.
func TestLiveChainParts(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.Perf)
	file := filepath.Join(t.TempDir(), "perf.data")
	for _, x := range []struct {
		flag         string
		kernel, user bool
	}{
		{"--call-chains", true, true},
		{"--user-callchains", false, true},
		{"--kernel-callchains", true, false},
		{"--switch-events", true, true},
	} {
		c := kprof(t, "record", "-e", "sched:sched_switch", x.flag, "-o", file, "--", "sh", "-c", "echo one; sleep 0.01; echo two")
		if said, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", x.flag, err, said)
		}
		kernel, user := false, false
		for _, word := range strings.Fields(string(command(t, nil, "perf", "script", "-F", "ip", "-i", file))) {
			addr, err := strconv.ParseUint(word, 16, 64)
			if err != nil {
				continue
			}
			kernel, user = kernel || addr>>63 == 1, user || addr>>63 == 0
		}
		if kernel != x.kernel || user != x.user {
			t.Errorf("%s: frames of the kernel %v, of the user %v", x.flag, kernel, user)
		}
		switches := bytes.Contains(command(t, nil, "perf", "report", "--stats", "-i", file), []byte("SWITCH events"))
		if switches != (x.flag == "--switch-events") {
			t.Errorf("%s: records of switches %v", x.flag, switches)
		}
	}
}
