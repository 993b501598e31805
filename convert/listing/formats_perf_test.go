package listing_test

import (
	"path/filepath"
	"strings"
	"testing"

	"kprof/convert/listing/listingtest"
	"kprof/perfevent/livetest"
)

// TestPerfScriptFormats compares every event with a format that there is, of this kernel and
// of others, with payloads that are made up.
func TestPerfScriptFormats(t *testing.T) {
	livetest.Require(t, livetest.Perf)
	kernels := map[string]map[string]string{}
	for name, text := range livetest.Formats(t) {
		kernel, event, _ := strings.Cut(name, "/")
		if kernels[kernel] == nil {
			kernels[kernel] = map[string]string{}
		}
		kernels[kernel][event] = text
	}
	for kernel, texts := range kernels {
		t.Run(kernel, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "perf.data")
			listingtest.WriteFormats(t, name, texts)
			if events := listingtest.Compare(t, name, listingtest.Columns); len(events) != len(texts) {
				t.Errorf("%d events compared, of %d", len(events), len(texts))
			}
		})
	}
}
