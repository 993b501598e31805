package record

import (
	"os"
	"strings"
	"testing"

	"kprof/perfevent/event"
)

func TestValidate(t *testing.T) {
	good := Options{Specs: make([]event.Spec, 1), Target: Target{AllCPUs: true}}
	if err := good.validate(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*Options){
		"no events":           func(o *Options) { o.Specs = nil },
		"wants one target":    func(o *Options) { o.Target = Target{} },
		"wants one target: a": func(o *Options) { o.Target.PIDs = []int{1} },
		"wants one target: ":  func(o *Options) { o.Target.Cgroups = []*os.File{os.Stdin} },
		"-3 is no process":    func(o *Options) { o.Target = Target{TIDs: []int{-3}} },
		"exclude each other":  func(o *Options) { o.Frequency, o.Period = 1, 1 },
		"allows":              func(o *Options) { o.Frequency = 1 << 50 },
		"frames":              func(o *Options) { o.MaxStack = 1 << 16 },
		"multiple of 8":       func(o *Options) { o.StackSize = 100 },
		"at most 65528":       func(o *Options) { o.StackSize = 1 << 16 },
		"at most 1 GiB":       func(o *Options) { o.RingSize = 1<<30 + 1 },
	} {
		o := good
		change(&o)
		if err := o.validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q in it", err, want)
		}
	}
}
