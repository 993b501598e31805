//go:build linux

package main

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// TestLiveRegisters: registers of samples are those that perf reads, and hold what the event says;
// they select, are added up and are labels, through perf.data and live.
func TestLiveRegisters(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Perf)
	second := map[string]string{"amd64": "si", "386": "cx", "arm64": "x1"}[runtime.GOARCH] // argument of a system call
	data, folded := filepath.Join(t.TempDir(), "x.data"), filepath.Join(t.TempDir(), "x.folded")
	record := []string{"record", "-q", "-e", "raw_syscalls:sys_enter", "--user-regs", "-I", "--call-chains=false"}
	command(t, nil, kprof(t).Path, append(record, "-o", data, "--", "ls", "/")...)
	same := func(ours, theirs string) {
		t.Helper()
		o := string(command(t, nil, kprof(t).Path, append(strings.Fields(ours), data)...))
		p := string(command(t, nil, "perf", append(strings.Fields(theirs), "-i", data)...))
		if o != p || !strings.Contains(o, strings.ToUpper(second)+":0x") && runtime.GOARCH != "arm64" {
			t.Errorf("%s:\n%s\nperf:\n%s", ours, o, p)
		}
	}
	same("script -F comm,event,uregs", "script -F comm,event,uregs -G")
	same("script -F iregs,uregs", "script -F iregs,uregs -G")
	all := strings.Count(string(command(t, nil, kprof(t).Path, "script", "-F", "comm", data)), "\n")
	count := func(file string, flags ...string) (n int) {
		for line := range strings.Lines(string(command(t, nil, kprof(t).Path, append([]string{"convert", "-f", "folded", file}, flags...)...))) {
			v := 0
			fmt.Sscan(line[strings.LastIndexByte(line, ' '):], &v)
			n += v
		}
		return n
	}
	where := fmt.Sprintf("uregs.%s == args[1] && iregs.%s != 0", second, map[string]string{"amd64": "ip", "386": "ip", "arm64": "pc"}[runtime.GOARCH])
	if n := count(data, "--where", where); n != all || n == 0 {
		t.Errorf("of %d samples %d match %s", all, n, where)
	}
	if n := count(data, "--value", second+" == args[1] ? 3 : 0"); n != 3*all {
		t.Errorf("values add up to %d, want %d", n, 3*all)
	}
	command(t, nil, kprof(t).Path, append(record, "--where", where, "--tagleaf", second, "-o", folded, "--", "ls", "/")...)
	if n := count(folded); n != all || !strings.Contains(string(command(t, nil, "cat", folded)), ";0x0 ") {
		t.Errorf("live, %d samples match", n)
	}
	if out, err := kprof(t, "record", "--user-regs=nothing", "--", "ls").CombinedOutput(); err == nil || !strings.Contains(string(out), `no register "nothing": use `) {
		t.Errorf("%v: %s", err, out)
	}
	if out := command(t, nil, kprof(t).Path, "record", "--user-regs=?"); !strings.Contains(" "+string(out), " "+second+" ") {
		t.Errorf("registers: %s", out)
	}
}
