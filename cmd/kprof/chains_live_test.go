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
		// Of code without frame pointers, return addresses may be any words: the kernel's are those
		// for which perf has a symbol.
		kernel, user := false, false
		for line := range strings.Lines(string(command(t, nil, "perf", "script", "-F", "ip,sym,dso", "-i", file))) {
			first, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			addr, err := strconv.ParseUint(first, 16, 64)
			if err != nil {
				continue
			}
			kernel = kernel || addr>>63 == 1 && strings.Contains(line, "([kernel.kallsyms])") && !strings.Contains(line, "[unknown]")
			user = user || addr>>63 == 0
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
