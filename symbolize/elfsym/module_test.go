package elfsym

import (
	"path/filepath"
	"testing"

	"kprof/perfevent/livetest"
)

// TestLargeModule: graphics drivers have megabytes of code, behind which the kernel puts the rest.
func TestLargeModule(t *testing.T) {
	livetest.RequirePrograms(t, "gcc")
	dir := t.TempDir()
	source, ko := filepath.Join(dir, "large.c"), filepath.Join(dir, "large.ko")
	livetest.WriteFile(t, source, `
		__asm__(".text; .skip 0x300000");
		int last(void) { return 1; }
		__attribute__((section(".text.unlikely"))) int unlikely(void) { return 2; }`)
	livetest.Run(t, "gcc", "-O2", "-c", "-o", ko, source)
	f := open(t, ko, Options{Module: true})
	starts := map[string]uint64{}
	for s := range f.Functions() {
		starts[s.Name] = s.Start
	}
	if starts["last"] < 0x300000 || starts["unlikely"] <= starts["last"] {
		t.Errorf("functions start at %#x", starts)
	}
}
