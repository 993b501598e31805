package rig

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGuestSums: the bytes that a task allocates, by stack, are those that a histogram of the
// kernel adds up meanwhile.
func TestGuestSums(t *testing.T) {
	guest(t)
	w := startWalk(t)
	pid := fmt.Sprintf("common_pid == %d", w.thread)
	const event = tracing + "events/kmem/kmalloc/"
	trigger := func(key string) string {
		return fmt.Sprintf("hist:keys=%s:vals=bytes_alloc:size=4096 if %s", key, pid)
	}
	key := "common_stacktrace"
	if os.WriteFile(event+"trigger", []byte(trigger(key)), 0) != nil {
		key = "stacktrace" // before Linux 6.3
		if err := os.WriteFile(event+"trigger", []byte(trigger(key)), 0); err != nil {
			t.Fatal(err)
		}
	}
	defer os.WriteFile(event+"trigger", []byte("!"+trigger(key)), 0)
	file := filepath.Join(t.TempDir(), "sums.data")
	recorded(t, file, func() { w.run(t) }, "-a", "-e", "kmem:kmalloc", "--filter", pid)
	hist, err := os.ReadFile(event + "hist")
	if err != nil {
		t.Fatal(err)
	}
	want := histogram(t, string(hist))
	got := map[string]sums{}
	for i, args := range [][]string{{}, {"--value", "bytes_alloc"}} {
		code, folded, said := kprof(t, append([]string{"convert", "-f", "folded", file}, args...)...)
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, said)
		}
		for line := range strings.Lines(folded) {
			stack, n := kernelPart(t, strings.TrimSpace(line))
			// The kernel's begins at the function that allocates, or at its caller.
			for key := range want {
				if strings.HasSuffix(stack, " "+key) {
					stack = key
					break
				}
			}
			s := got[stack]
			s[i] += n
			got[stack] = s
		}
	}
	if d := cmp.Diff(want, got); d != "" || len(got) < 2 {
		t.Errorf("%d stacks, -kernel +kprof:\n%s\n%s", len(got), d, hist)
	}
}

// sums are the hits and the bytes of a stack.
type sums [2]int

// histogram reads what the kernel prints of one, by stack, leaf first.
func histogram(t *testing.T, text string) map[string]sums {
	t.Helper()
	found := map[string]sums{}
	var frames []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		var hits, bytes int
		switch name, _, isFrame := strings.Cut(line, "+0x"); {
		case strings.HasPrefix(line, "{"):
			frames = nil
		case isFrame:
			frames = append(frames, name)
		case strings.HasPrefix(line, "}"):
			if _, err := fmt.Sscanf(strings.Join(strings.Fields(line), " "), "} hitcount: %d bytes_alloc: %d", &hits, &bytes); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			key := strings.Join(frames, " ")
			found[key] = sums{found[key][0] + hits, found[key][1] + bytes}
		}
	}
	return found
}

// kernelPart returns the kernel's frames of a folded line, leaf first, and its value. They
// are fewer than the 16 that a histogram has (HIST_STACKTRACE_DEPTH, kernel/trace/trace.h).
func kernelPart(t *testing.T, line string) (stack string, value int) {
	t.Helper()
	i := strings.LastIndexByte(line, ' ')
	value, err := strconv.Atoi(line[i+1:])
	frames := strings.Split(line[:i], ";")
	entry := slices.IndexFunc(frames, func(f string) bool {
		return f == "entry_SYSCALL_64_after_hwframe" || f == "el0t_64_sync"
	})
	if err != nil || entry < 0 {
		t.Fatalf("%q has no system call: %v", line, err)
	}
	frames = frames[entry:]
	slices.Reverse(frames)
	return strings.Join(frames, " "), value
}
