package record

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent"
)

func TestValidate(t *testing.T) {
	good := Options{Specs: make([]perfevent.Spec, 1), Target: Target{AllCPUs: true}}
	if err := good.validate(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Options){
		"no events":           func(o *Options) { o.Specs = nil },
		"wants one target":    func(o *Options) { o.Target = Target{} },
		"wants one target: a": func(o *Options) { o.Target.PIDs = []int{1} },
		"wants one target: ":  func(o *Options) { o.Target.Cgroup = os.Stdin },
		"-3 is no process":    func(o *Options) { o.Target = Target{TIDs: []int{-3}} },
		"exclude each other":  func(o *Options) { o.Frequency, o.Period = 1, 1 },
		"allows":              func(o *Options) { o.Frequency = 1 << 50 },
		"frames":              func(o *Options) { o.MaxStack = 1 << 16 },
		"at most 1 GiB":       func(o *Options) { o.RingSize = 1<<30 + 1 },
	} {
		o := good
		change(&o)
		if err := o.validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q in it", err, want)
		}
	}
}

func TestParseCPUs(t *testing.T) {
	for list, want := range map[string][]int{"0": {0}, "0-3,8": {0, 1, 2, 3, 8}, "5,1-2,2": {1, 2, 5}} {
		got, err := ParseCPUs(list)
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%q: %v, %v; want %v", list, got, err, want)
		}
	}
	for _, list := range []string{"", "a", "3-1", "-1", "1-", "0-99999999", "1,,2"} {
		if got, err := ParseCPUs(list); err == nil {
			t.Errorf("%q: %v", list, got)
		}
	}
	if got := formatCPUs([]int{0, 1, 2, 5, 7, 8}); got != "0-2,5,7-8" {
		t.Error(got)
	}
}

func TestHotplug(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/online")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h := &hotplug{f: f, cpus: []int{0, 1}}
	look := func(online string) []string {
		h.notes = nil
		if err := f.Truncate(0); err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte(online+"\n"), 0); err != nil {
			t.Fatal(err)
		}
		if err := h.look(); err != nil {
			t.Fatal(err)
		}
		return h.notes
	}
	for _, step := range []struct {
		online string
		want   int
	}{{"0-1", 0}, {"0-1", 0}, {"0", 1}, {"0-2", 2}} {
		if got := look(step.online); len(got) != step.want {
			t.Errorf("%s: %q", step.online, got)
		}
	}
	h.tasks = true
	if got := append(look("0"), look("0-1")...); len(got) != 0 {
		t.Errorf("counters of tasks: %q", got)
	}
	if n := testing.AllocsPerRun(100, func() { _ = h.look() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
