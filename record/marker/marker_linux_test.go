package marker

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"kprof/perfevent/livetest"
)

// TestExpand: rings that nobody has used get their size; one that was chosen stays. The
// kernel's are small once only, until anything uses them.
func TestExpand(t *testing.T) {
	path := filepath.Join(t.TempDir(), "buffer_size_kb")
	for text, want := range map[string]string{"7 (expanded: 1408)\n": "1408", "8 (expanded: 64)\n": "64", "7\n": "7\n", "1408\n": "1408\n", "X\n": "X\n"} {
		livetest.WriteFile(t, path, text)
		if err := expand(path); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
	if err := expand(path + "-none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}
