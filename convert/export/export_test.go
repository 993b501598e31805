package export_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"

	"github.com/klauspost/compress/gzip"

	"kprof/convert"
	"kprof/convert/export"
	"kprof/convert/flamegraph"
)

func TestOf(t *testing.T) {
	for name, want := range map[string]struct {
		format export.Format
		gzip   bool
	}{
		"a.pb.gz":                   {export.Pprof, false},
		"a.pprof":                   {export.Pprof, false},
		"dir.svg/a.folded":          {export.Folded, false},
		"a.html":                    {export.HTML, false},
		"a.svg":                     {export.SVG, false},
		"perf.data":                 {export.Data, false},
		"a.speedscope.json":         {export.Speedscope, false},
		"a.speedscope.json.gz":      {export.Speedscope, true},
		"a.firefox.json.gz":         {export.Firefox, true},
		"a.trace.json":              {export.Chrome, false},
		"a.folded.gz":               {"", false}, // only what viewers open is compressed
		"a.json":                    {"", false},
		"-":                         {"", false},
		"":                          {"", false},
		"a.speedscope.json.gz.gz":   {"", false},
		"a.SVG":                     {"", false},
		"svg":                       {"", false},
		"/x/.svg":                   {export.SVG, false},
		"a.trace.json.gz.folded":    {export.Folded, false},
		"a.data.gz":                 {"", false},
		"a.firefox.json.pb.gz":      {export.Pprof, false},
		"a.speedscope.json.pprof":   {export.Pprof, false},
		"a.chrome.json":             {"", false},
		"recording.data.html":       {export.HTML, false},
		"recording.html.trace.json": {export.Chrome, false},
	} {
		if f, gz := export.Of(name); f != want.format || gz != want.gzip {
			t.Errorf("%q is %q, compressed %v, want %+v", name, f, gz, want)
		}
	}
}

// TestWrite: every format is written, each as what it is; compressed ones hold the same.
func TestWrite(t *testing.T) {
	p, err := convert.Open(context.Background(), "../../testdata/demo.data", convert.Options{Selection: convert.Selection{Blocks: true}, Unnamed: true})
	if err != nil {
		t.Fatal(err)
	}
	begins := map[export.Format]string{
		export.Pprof: "\x1f\x8b", export.HTML: "<!DOCTYPE html>", export.SVG: "<svg ", export.Text: "Event: cpu-clock",
		export.Speedscope: "{", export.Firefox: "{", export.Chrome: "{", export.Folded: "", export.FoldedHeader: "# kprof: crc64=",
	}
	for _, f := range export.Formats {
		if !f.Known() {
			t.Errorf("%s is not known", f)
		}
		var plain, packed bytes.Buffer
		_, err1 := export.Write(&plain, p, export.Options{Format: f})
		_, err2 := export.Write(&packed, p, export.Options{Format: f, Gzip: true})
		if err := errors.Join(err1, err2); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		want, known := begins[f]
		if !known || plain.Len() == 0 || !bytes.HasPrefix(bytes.ToLower(plain.Bytes()), bytes.ToLower([]byte(want))) {
			t.Errorf("%s begins with %.40q, want %q", f, plain.Bytes(), want)
		}
		if f == export.Pprof {
			continue
		}
		r, err := gzip.NewReader(&packed)
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		if b, err := io.ReadAll(r); err != nil || !bytes.Equal(b, plain.Bytes()) {
			t.Errorf("%s is something else when compressed: %v", f, err)
		}
	}
	for _, f := range []export.Format{export.Data, "", "tar"} {
		if _, err := export.Write(io.Discard, p, export.Options{Format: f}); err == nil {
			t.Errorf("a profile is written as %q", f)
		}
	}
	_, err = export.Write(io.Discard, p, export.Options{Format: export.SVG, SVG: flamegraph.Options{ByTime: true}})
	if !errors.Is(err, export.ErrNoTimes) {
		t.Errorf("in the order of time without times: %v", err)
	}
}
