package main

import (
	"slices"
	"testing"
)

// TestBuildNames: what tells builds apart, which may be a version with dots in it.
func TestBuildNames(t *testing.T) {
	for _, tt := range []struct{ paths, want []string }{
		{[]string{"v1.data", "v2.data"}, []string{"v1", "v2"}},
		{[]string{"v1.pb.gz", "v2.folded", "v3.perf"}, []string{"v1", "v2", "v3.perf"}},
		{[]string{"runs/6.1", "runs/6.12/", "runs/6.18-rc1"}, []string{"6.1", "6.12", "6.18-rc1"}},
		{[]string{"linux-6.1.data", "linux-6.12.data"}, []string{"linux-6.1", "linux-6.12"}},
		{[]string{"old/perf.data", "new/perf.data"}, []string{"old", "new"}},
		{[]string{"/srv/a/runs/x.data", "/srv/b/runs/x.data"}, []string{"a", "b"}},
		{[]string{"a/1.data", "b/1.data", "b/2.data"}, []string{"a/1", "b/1", "b/2"}},
		{[]string{"v1/*.data", "v2/*.data"}, []string{"v1", "v2"}},
		{[]string{"a.data", "a.data"}, []string{"a", "a"}},
		{[]string{"x.data", "x.pb.gz", "x.data"}, []string{"x", "x.pb.gz", "x"}},
		{[]string{"a/b", "a"}, []string{"a/b", "a"}},
	} {
		if got := buildNames(tt.paths); !slices.Equal(got, tt.want) {
			t.Errorf("%q: %q, want %q", tt.paths, got, tt.want)
		}
	}
}
