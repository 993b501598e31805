package symbolize

import (
	"path/filepath"
	"testing"

	"kprof/perfevent/livetest"
	"kprof/symbolize/mapping"
)

// TestDebugFileInCache: perf keeps debug files beside the files that were recorded.
func TestDebugFileInCache(t *testing.T) {
	livetest.RequirePrograms(t, "objcopy", "strip")
	path, off, id := program(t, waiting, "-DNUMBER=6")
	dir := t.TempDir()
	debug, other := filepath.Join(dir, "debug"), filepath.Join(dir, "other")
	livetest.Run(t, "objcopy", "--only-keep-debug", path, debug)
	livetest.Run(t, "objcopy", "--remove-section=.note.gnu.build-id", debug, other)
	livetest.Run(t, "strip", path)
	place := filepath.Join(".build-id", id[:2], id[2:])
	for _, c := range []struct {
		name, elf, debug, want string
	}{
		{"both", path, debug, "f"},
		{"stripped alone", path, "", ""},
		{"of another build", path, other, ""},
	} {
		cache := t.TempDir()
		install(t, c.elf, cache, filepath.Join(place, "elf"))
		if c.debug != "" {
			install(t, c.debug, cache, filepath.Join(place, "debug"))
		}
		s := New(Options{BuildIDCache: cache, DebugDirs: []string{}, Root: t.TempDir(), Foreign: true})
		if got, err := names(t, s, Mapping{Kind: mapping.User, File: "/gone/prog", BuildID: id}, off); got[0] != c.want {
			t.Errorf("%s: %q (%v), want %q", c.name, got, err, c.want)
		}
		s.Close()
	}
}
