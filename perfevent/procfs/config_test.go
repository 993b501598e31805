package procfs

import (
	"bytes"
	"compress/gzip"
	"maps"
	"strings"
	"testing"
	"testing/fstest"
)

// TestReadKernelConfig: the running kernel's own configuration counts first, and one
// that cannot be read is told only where there is no other.
func TestReadKernelConfig(t *testing.T) {
	var zipped bytes.Buffer
	zw := gzip.NewWriter(&zipped)
	zw.Write([]byte("# CONFIG_KPROBES is not set\nCONFIG_PERF_EVENTS=y\nCONFIG_LOCALVERSION=\"-a=b\"\n"))
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	own := &fstest.MapFile{Data: zipped.Bytes()}
	bad := &fstest.MapFile{Data: []byte("no gzip")}
	kept := &fstest.MapFile{Data: []byte("CONFIG_KPROBES=m\n")}
	for _, tt := range []struct {
		root fstest.MapFS
		want map[string]string
		from string
		err  string
	}{
		{fstest.MapFS{"proc/config.gz": own, "boot/config-6.1": kept}, map[string]string{"CONFIG_PERF_EVENTS": "y", "CONFIG_LOCALVERSION": `"-a=b"`}, "/proc/config.gz", ""},
		{fstest.MapFS{"proc/config.gz": bad, "lib/modules/6.1/build/.config": kept}, map[string]string{"CONFIG_KPROBES": "m"}, "/lib/modules/6.1/build/.config", ""},
		{fstest.MapFS{"proc/config.gz": bad}, nil, "", "/proc/config.gz: "},
		{fstest.MapFS{"boot/config-6.2": kept}, nil, "", "nor /boot/config-6.1 nor"},
	} {
		got, from, err := ReadKernelConfig(tt.root, "6.1")
		if !maps.Equal(got, tt.want) || from != tt.from || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%v of %q, %v; want %v of %q, %q", got, from, err, tt.want, tt.from, tt.err)
		}
	}
}
