package table

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/convert/stacks"
	"kprof/convert/stacks/stackstest"
	"kprof/perfevent/livetest"
)

func callTree(t *testing.T, s *stacks.Set, o TreeOptions) string {
	t.Helper()
	return livetest.Written(t, func(w io.Writer) error { return Tree(w, s, o) })
}

func TestTreeText(t *testing.T) {
	for _, c := range []struct {
		name string
		o    TreeOptions
		want string
	}{
		{"whole", TreeOptions{}, `
Event: cpu-clock, samples of count
Total: 1023

       cum    cum%   self%  function
       512  50.05%   0.00%  ├─ main
       512  50.05%  50.05%  │  main
       511  49.95%  25.02%  └─ a
       159  15.54%   0.39%     ├─ main
       128  12.51%  12.51%     │  ├─ [x.so]
        24   2.35%   0.00%     │  ├─ vfs_read [kernel]
        16   1.56%   1.56%     │  │  ├─ bpf_prog [BPF]
         8   0.78%   0.78%     │  │  └─ ext4_read [module]
         3   0.29%   0.00%     │  └─ work
         3   0.29%   0.29%     │     tiny [inlined]
        64   6.26%   0.00%     ├─ clock
        64   6.26%   0.00%     │  folded
        64   6.26%   6.26%     │  folded_[k] [kernel]
        32   3.13%   0.00%     └─ jitted [JIT]
        32   3.13%   3.13%        guest [guest]
`},
		// What is left alone is not indented.
		{"what is large, cut", TreeOptions{Column: 1, Min: 0.1, Width: 36, Notes: []string{"Lost: 5"}}, `
Event: cpu-clock, cpu of nanoseconds
Total: 102.3us
Lost: 5

       cum    cum%   self%  function
    51.2us  50.05%   0.00%  ├─ main
    51.2us  50.05%  50.05%  │  main
    51.1us  49.95%  25.02%  └─ a
    15.9us  15.54%   0.39%     main
    12.8us  12.51%  12.51%     [x.s…

Left out: 4 calls with less than 10…
`},
		{"callers, colored", TreeOptions{Event: 1, Reverse: true, Color: true}, "\n" +
			"Event: other, samples of count\nTotal: 7\n\n       cum    cum%   self%  function\n" +
			"         7 \x1b[31m100.00%\x1b[m   0.00%  vfs_read [kernel]\n" +
			"         7 \x1b[31m100.00%\x1b[m \x1b[31m100.00%\x1b[m  a\n"},
	} {
		if diff := cmp.Diff(c.want[1:], callTree(t, stackstest.TreeSet(), c.o)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestTreeTextErrors(t *testing.T) {
	for _, o := range []TreeOptions{{Event: 5}, {Column: 5}} {
		if err := Tree(io.Discard, stackstest.TreeSet(), o); err == nil || !strings.HasPrefix(err.Error(), "write tree: no ") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if err := Tree(&stackstest.Failing{}, stackstest.TreeSet(), TreeOptions{}); err == nil || err.Error() != "write tree: disk full" {
		t.Errorf("to a full disk: %v", err)
	}
}
