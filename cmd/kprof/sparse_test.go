//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kprof/perfevent/livetest"
)

// TestSparseText reads text behind which there is a hole of a terabyte, which takes next to
// nothing on the disk: it is refused in one line, before long.
func TestSparseText(t *testing.T) {
	demo, err := filepath.Abs(filepath.Join(root, "testdata/demo.data"))
	if err != nil {
		t.Fatal(err)
	}
	const tooLong = "a line is longer than 16 MiB"
	for _, c := range []struct {
		name, text string // which is repeated
		want       string
		args       []string // before the name of the file
	}{
		{"initcalls", "[    0.000001] calling  f+0x0/0x10 @ 1\n[    0.100001] initcall f+0x0/0x10 returned 0 after 10 usecs\n", tooLong, []string{"boot"}},
		{"nothing", "", "no log of a kernel", []string{"boot"}},
		{"log", "[    0.000001] calling  f+0x0/0x10 @ 1\n[    0.100001] initcall f+0x0/0x10 returned 0 after 10 usecs\n", tooLong, []string{"report"}},
		{"trace", "# tracer: function\n           <...>-1 [000] ..... 1.000000: f <-g\n", "line 2001: " + tooLong, []string{"report"}},
		{"modules", "fuse 4096 0 - Live 0xffffffffc0000000\n", tooLong, []string{"report", demo, "--guest-modules"}},
		{"symbols", "ffffffff81000000 T f\n", tooLong, []string{"report", demo, "-v", "--kallsyms"}},
		{"names", "a.folded\n", "line 1001: longer than 65536 bytes", []string{"merge", "-f", "folded", "--files-from"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "sparse")
			livetest.WriteFile(t, name, strings.Repeat(c.text, 1000))
			for size := int64(1 << 40); ; size /= 2 { // as large as the file system lets it be
				err := os.Truncate(name, size)
				if err == nil {
					break
				}
				if size < 1<<30 {
					t.Fatal(err)
				}
			}
			cmd := kprof(t, append(c.args, name)...)
			var said strings.Builder
			cmd.Stderr = &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() }).Stop()
			if err := cmd.Wait(); !strings.Contains(said.String(), c.want) {
				t.Errorf("%v, said %.300q, want %q", err, said.String(), c.want)
			}
		})
	}
}
