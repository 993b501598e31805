//go:build linux

package event

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
	"kprof/perfevent/livetest"
	"kprof/perfevent/tracefs"
)

// TestProbeKept makes a probe that stays and counts it as the tracepoint that it is.
func TestProbeKept(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs, livetest.PMU("uprobe"))
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := new(Resolver)
	fs, err := r.Tracefs()
	if err != nil {
		t.Fatal(err)
	}
	place := fmt.Sprintf("%s:%#x", exe, fileOffset(t, exe))
	name := fmt.Sprintf("kept_%d", os.Getpid())
	keep := func(text string) (tracefs.Probe, error) {
		t.Helper()
		spec := mustSpec(t, text)
		return r.KeepProbe(spec)
	}
	for _, group := range []string{KeptGroup, "somebody"} {
		text := "p:" + group + "/" + name + " " + place + " $comm"
		if group == KeptGroup {
			text = "p:" + name + " " + place
		}
		p, err := keep(text)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := fs.RemoveProbe(p); err != nil {
				t.Error(err)
			}
		})
		if p.Group != group || p.Name != name || !p.User {
			t.Fatalf("%q made %+v", text, p)
		}
		if !slices.ContainsFunc(allProbes(t), func(l tracefs.Probe) bool { return l.Group == group && l.Name == name }) {
			t.Errorf("tracefs does not list %s:%s", group, name)
		}
		sum := 0
		n := count(t, resolveOne(t, group+":"+name, perfevent.Sampling{}), func() {
			for i := range hits {
				sum += probed(i)
			}
		})
		if n.Value != hits || sum == 0 {
			t.Errorf("%s: %d calls, want %d", group, n.Value, hits)
		}
		if p, err := keep(text); !errors.Is(err, unix.EEXIST) {
			t.Errorf("%q a second time: %+v, %v", text, p, err)
		}
	}
	for _, bad := range []string{"cycles", "uprobe:" + place + " a=%nosuch:u64"} {
		if p, err := keep(bad); err == nil {
			t.Errorf("%q made %+v", bad, p)
		}
	}
}
