package folded

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/gzip"

	"kprof/convert/stacks"
)

func gzipped(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestFoldedReadGzip(t *testing.T) {
	const text = "bash;main;read 3\n\nbash;main 0.5\n"
	want, err := Read(strings.NewReader(text), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	data := gzipped(t, text)
	got, err := Read(bytes.NewReader(data), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(folded(t, want, Options{}), folded(t, got, Options{})); diff != "" {
		t.Error(diff)
	}
	for _, cut := range []int{3, len(data) - 1} {
		if _, err := Read(bytes.NewReader(data[:cut]), ReadOptions{}); err == nil || !strings.Contains(err.Error(), "EOF") {
			t.Errorf("cut at %d: error %v", cut, err)
		}
	}
}

// What repeats itself a thousand times is honest, if little of it is kept; what
// does not, although it is compressed as well, is not.
func TestFoldedReadKeeps(t *testing.T) {
	s, err := Read(bytes.NewReader(gzipped(t, strings.Repeat("main;f 1\nmain;g 2\n", 2<<20))), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := folded(t, s, Options{}); got != "main;f 2097152\nmain;g 4194304\n" {
		t.Error(got)
	}
	var deep strings.Builder
	for i := range 60 {
		fmt.Fprintf(&deep, "%s%d 1\n", strings.Repeat(";", 250_000), i)
	}
	var large *stacks.TooLargeError
	if _, err := Read(bytes.NewReader(gzipped(t, deep.String())), ReadOptions{}); !errors.As(err, &large) {
		t.Errorf("error %v", err)
	}
	if _, err := Read(strings.NewReader(deep.String()), ReadOptions{}); err != nil {
		t.Errorf("not compressed: %v", err)
	}
}

// Lines that are counted but hold nothing are passed over together.
func TestFoldedReadLineNumbers(t *testing.T) {
	in := strings.Repeat("\n", 3<<20) + "a 1\n\r\n\n\nb x\n"
	want := fmt.Sprintf("line %d: weight", 3<<20+5)
	if _, err := Read(strings.NewReader(in), ReadOptions{}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}
