package convert_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"kprof/convert"
	"kprof/perfevent/livetest"
)

// tracerText is what the kernel's tracer prints (Documentation/trace/ftrace.rst, "Output format").
const tracerText = `# tracer: function
#
#           TASK-PID     CPU#   ||||   TIMESTAMP  FUNCTION
#              | |         |    ||||      |         |
            bash-1977    [000] .... 17284.993652: sys_close <-system_call_fastpath
            bash-1977    [000] .... 17284.993653: __close_fd <-sys_close
            sshd-1974    [003] .... 17284.993658: __srcu_read_unlock <-fsnotify
`

// TestReaders: an input is read alike from a file, from a pipe, and from whatever else is an
// io.Reader.
func TestReaders(t *testing.T) {
	text := filepath.Join(t.TempDir(), "trace")
	livetest.WriteFile(t, text, tracerText)
	inputs := []string{text, "../testdata/demo.data", "../testdata/demo.folded", "../testdata/recordings/s390x.data", "../testdata/recordings/s390x-zstd-pipe.data", "../testdata/recordings/i686-zstd.data"}
	for _, name := range inputs {
		want, err := convert.Open(t.Context(), name, convert.Options{Unnamed: true})
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		pipe, to, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer pipe.Close()
		go func() {
			to.Write(b)
			to.Close()
		}()
		for kind, r := range map[string]io.Reader{"bytes": bytes.NewReader(b), "reader": struct{ io.Reader }{bytes.NewReader(b)}, "pipe": pipe} {
			got, err := convert.Read(t.Context(), r, convert.Options{Unnamed: true})
			if err != nil {
				t.Errorf("%s from %s: %v", name, kind, err)
				continue
			}
			if w, g := foldedText(t, want), foldedText(t, got); w != g || w == "" {
				t.Errorf("%s from %s: %.200s\nfrom the file: %.200s", name, kind, g, w)
			}
			if !slices.Equal(got.Set.SampleCounts(), want.Set.SampleCounts()) {
				t.Errorf("%s from %s: %v samples, from the file %v", name, kind, got.Set.SampleCounts(), want.Set.SampleCounts())
			}
		}
	}
}
