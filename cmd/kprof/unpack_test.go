//go:build linux

package main

import (
	"bytes"
	"encoding/base64"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprof/perfevent/livetest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// packers compress; what there is no writer for in Go is packed by xz and bzip2 of
// "main;f 5\n".
var packers = map[string]func(io.Writer) (io.WriteCloser, error){
	"gzip": func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriter(w), nil },
	"zstd": func(w io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(w) },
	"lz4":  func(w io.Writer) (io.WriteCloser, error) { return lz4.NewWriter(w), nil },
}

const packedFolded = "main;f 5\n"

func pack(t *testing.T, how string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := packers[how](&b)
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// foldedOfInput has kprof read data from a file and from a pipe.
func foldedOfInput(t *testing.T, data []byte, flags ...string) (out string, failed string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "input")
	livetest.WriteFile(t, name, data)
	args := append([]string{"convert", "-f", "folded"}, flags...)
	var results [2]string
	for i, in := range []string{name, "-"} {
		cmd := kprof(t, append(args, in)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if in == "-" {
			cmd.Stdin = io.MultiReader(bytes.NewReader(data)) // a pipe
		}
		out, err := cmd.Output()
		if err != nil {
			failed = stderr.String()
		}
		results[i] = string(out)
	}
	if results[0] != results[1] {
		t.Errorf("from a file %q, from a pipe %q", results[0], results[1])
	}
	return results[0], failed
}

func TestPackedInput(t *testing.T) {
	demo, err := os.ReadFile("../../testdata/demo.data")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../testdata/demo.folded")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"--kallsyms", "../../testdata/demo.kallsyms", "--symfs", "../../testdata/symfs"}
	for how := range packers {
		if got, failed := foldedOfInput(t, pack(t, how, []byte(packedFolded))); got != packedFolded {
			t.Errorf("%s of folded stacks: %q %s", how, got, failed)
		}
		if got, failed := foldedOfInput(t, pack(t, how, demo), names...); got != string(want) {
			t.Errorf("%s of a recording: %.100q %s", how, got, failed)
		}
		if got, failed := foldedOfInput(t, pack(t, how, manySamples(300))); strings.Count(got, "\n") < 100 {
			t.Errorf("%s of perf script's text: %.100q %s", how, got, failed)
		}
		if _, failed := foldedOfInput(t, pack(t, how, pack(t, "zstd", demo))); how != "zstd" && !strings.Contains(failed, "compressed twice") {
			t.Errorf("%s of zstd: %s", how, failed)
		}
		if _, failed := foldedOfInput(t, pack(t, how, []byte("hello world 5\n"))); !strings.Contains(failed, "it is text, but neither") {
			t.Errorf("%s of other text: %s", how, failed)
		}
		cut := pack(t, how, manySamples(3000))
		if _, failed := foldedOfInput(t, cut[:len(cut)/2]); !strings.Contains(failed, "decompress") || strings.Count(failed, "\n") != 1 {
			t.Errorf("half of %s: %q", how, failed)
		}
	}
	for how, text := range map[string]string{
		"xz":    xzFolded,
		"bzip2": bzip2Folded,
	} {
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, failed := foldedOfInput(t, data); got != packedFolded {
			t.Errorf("%s: %q %s", how, got, failed)
		}
	}
}

const (
	xzFolded    = "/Td6WFoAAATm1rRGAgAhARYAAAB0L+WjAQAIbWFpbjtmIDUKAAAAAEkZC6Jr0R/cAAEhCWwYxdUftvN9AQAAAAAEWVo="
	bzip2Folded = "QlpoOTFBWSZTWS49G6QAAAPZAAAQQAACCCEjIAAxBkxBANNqWsDmzxdyRThQkC49G6Q="
)
