package procfs

import (
	"bytes"
	"compress/gzip"
	"maps"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"kprof/perfevent/memtest"
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

// TestLargeConfig: what expands without end is refused, not kept.
func TestLargeConfig(t *testing.T) {
	var zipped bytes.Buffer
	zw := gzip.NewWriter(&zipped)
	if _, err := zw.Write(bytes.Repeat([]byte("CONFIG_A=y\n"), maxConfig/11+1)); err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	_, _, err := ReadKernelConfig(fstest.MapFS{"proc/config.gz": {Data: zipped.Bytes()}}, "6.1")
	if err == nil || !strings.Contains(err.Error(), "/proc/config.gz: a configuration of more than 16 MB") {
		t.Errorf("%v", err)
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte("# CONFIG_KPROBES is not set\nCONFIG_PERF_EVENTS=y\r\nCONFIG_LOCALVERSION=\"-a=b\"\n\nCONFIG_A=\nx=y\nCONFIG_B"))
	f.Fuzz(func(t *testing.T, in []byte) {
		defer memtest.Within(t, 1<<20+100*len(in))()
		config, err := parseConfig(bytes.NewReader(in))
		if err != nil {
			return // a line of more than 64 KB
		}
		// The last line of an option counts.
		want := map[string]string{}
		for line := range bytes.SplitSeq(in, []byte("\n")) {
			if m := configLine.FindSubmatch(bytes.TrimSuffix(line, []byte("\r"))); m != nil {
				want[string(m[1])] = string(m[2])
			}
		}
		if !maps.Equal(config, want) {
			t.Errorf("%q, want %q", config, want)
		}
	})
}

var configLine = regexp.MustCompile(`(?s)^(CONFIG_[^=]*)=(.*)$`)
