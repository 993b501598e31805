package elfsym

import (
	"path/filepath"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// TestCallFramesUnread: call frame information that cannot be read is an error where there is no
// other, and costs a file nothing that it has besides.
func TestCallFramesUnread(t *testing.T) {
	livetest.RequirePrograms(t, "gcc", "objcopy")
	garbage := filepath.Join(t.TempDir(), "garbage")
	livetest.WriteFile(t, garbage, "ZLIB\x00\x00\x00\x00\x00\x00\x00\x10not compressed at all")
	for _, test := range []struct {
		objcopy []string
		eh      bool
		err     string
	}{
		{nil, true, ""},
		{[]string{"--add-section", ".zdebug_frame=" + garbage}, true, ""},
		{[]string{"--add-section", ".zdebug_frame=" + garbage, "-R", ".eh_frame", "-R", ".eh_frame_hdr"}, false, ".zdebug_frame"},
	} {
		path := build(t)
		livetest.Run(t, "objcopy", append(test.objcopy, path)...)
		f := open(t, path, Options{})
		file, err := f.callFrames()
		if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%q: %v, want an error with %q", test.objcopy, err, test.err)
		}
		if eh := len(file.EHFrame.Data) > 0; eh != test.eh {
			t.Errorf("%q: .eh_frame %v", test.objcopy, eh)
		}
	}
}
