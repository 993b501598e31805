package record

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprof/perfevent/event"
	"kprof/perfevent/livetest"
)

// cLibrary needs the C library, and says where it is.
func cLibrary(path *string) livetest.Need {
	return func() string {
		for _, glob := range []string{"/lib/*/libc.so.6", "/lib64/libc.so.6"} {
			if found, err := filepath.Glob(glob); err == nil && len(found) > 0 {
				*path = found[0]
				return ""
			}
		}
		return "libc.so.6"
	}
}

// TestLiveUprobeHits counts calls of the C library's write in dd, which makes one
// for each block and as many others whatever the number of blocks.
func TestLiveUprobeHits(t *testing.T) {
	var libc string
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.PMU("uprobe"), livetest.Program("dd"), cLibrary(&libc))
	later := laterInstruction(t, "uprobe:"+libc+":write")
	for _, via := range []event.ProbeVia{event.ProbePMU, event.ProbeTracefs} {
		for _, probe := range []string{"uprobe:" + libc + ":write", "uprobe:" + libc + ":write" + later, "uretprobe:" + libc + ":write"} {
			none, some := hitsOf(t, probe, via, copyBlocks("0")...), hitsOf(t, probe, via, copyBlocks("100")...)
			if some-none != 100 {
				t.Errorf("%s via %d: %d hits for 100 blocks, %d for none", probe, via, some, none)
			}
		}
	}
}

// laterInstruction is the offset of the second instruction of a function: the
// first one that is not refused.
func laterInstruction(t *testing.T, place string) string {
	t.Helper()
	for off := 1; off < 16; off++ {
		later := fmt.Sprintf("+%d", off)
		if _, err := new(event.Resolver).Resolve(specs(t, place+later)[0]); err == nil {
			return later
		} else if !strings.Contains(err.Error(), "is inside an instruction of write") {
			t.Fatal(err)
		}
	}
	t.Fatal("no instruction in 16 bytes")
	return ""
}

// TestLiveUprobeOfChildren: a probe follows what the target starts, or kprof says
// that it does not. The kernel cannot pass a uprobe of the PMU on: to try makes
// fork fail.
func TestLiveUprobeOfChildren(t *testing.T) {
	var libc string
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.PMU("uprobe"), livetest.Program("dd"), livetest.Program("sh"), cLibrary(&libc))
	probe := "uprobe:" + libc + ":write"
	child := func(count string) []string {
		return []string{"sh", "-c", strings.Join(copyBlocks(count), " ") + " && :"}
	}
	if none, some := hitsOf(t, probe, event.ProbeAuto, child("0")...), hitsOf(t, probe, event.ProbeAuto, child("100")...); some-none != 100 {
		t.Errorf("%d hits for 100 blocks, %d for none", some, none)
	}
	hitsOf(t, probe, event.ProbePMU, child("1")...)
	s := open(t, Options{Specs: specs(t, probe), Target: Target{TIDs: []int{os.Getpid()}}, ProbeVia: event.ProbePMU})
	if notes := s.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "what a recorded task starts is not recorded") {
		t.Errorf("%q", notes)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func copyBlocks(count string) []string {
	return []string{"dd", "if=/dev/zero", "of=/dev/null", "bs=1", "status=none", "count=" + count}
}

// hitsOf records a probe while a command runs, which must succeed.
func hitsOf(t *testing.T, probe string, via event.ProbeVia, command ...string) uint64 {
	t.Helper()
	c, err := Launch(command, LaunchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, Options{
		Specs:    specs(t, probe),
		Target:   Target{PIDs: []int{c.PID()}, EnableOnExec: true},
		Start:    c.Start,
		ProbeVia: via,
	})
	to := newSink(t)
	st, err := s.Run(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	if code, err := c.Wait(); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	checkCounts(t, st, to)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return st.Events[0].Hits
}
