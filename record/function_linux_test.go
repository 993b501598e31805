package record

import (
	"errors"
	"testing"

	"kprof/perfevent/livetest"
)

func TestNamesFunctions(t *testing.T) {
	livetest.Table(t, namesFunctions, map[string]bool{
		"ip == vfs_read":                   true,
		"ip==vfs_read":                     true,
		`ip == "vfs_*" || ip == ksys_read`: true,
		"ip == *read*":                     true,
		"":                                 false,
		"ip != vfs_read":                   false,
		"ip == vfs_read || ip != do_wait":  false,
		"ip == *":                          false,
		"ip == vfs_read || ip == '*'":      false,
		"common_pid > 0":                   false,
	})
}

// TestLiveEveryFunction: what would sample all that the kernel does is refused, and not
// even opened.
func TestLiveEveryFunction(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	for _, filter := range []string{"", "ip != vfs_read"} {
		_, err := Open(t.Context(), Options{Specs: specs(t, "ftrace:function"), Target: Target{AllCPUs: true}, Filter: filter})
		if !errors.Is(err, ErrEveryFunction) {
			t.Errorf("filter %q: %v", filter, err)
		}
	}
}
