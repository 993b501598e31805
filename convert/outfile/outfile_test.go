package outfile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprof/convert/outfile"
	"kprof/perfevent/livetest"
)

// Example replaces a file by a whole one.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "stacks.folded")

	place, err := outfile.Find(name)
	if err != nil {
		fmt.Println(err)
		return
	}
	// Here work goes on for long.
	err = place.Write(nil, func(f *os.File, _ bool) error {
		_, err := f.WriteString("main;work 3\n")
		return err
	})
	b, _ := os.ReadFile(name)
	fmt.Printf("%s%v\n", b, err)
	// Output:
	// main;work 3
	// <nil>
}

// TestFailed: where writing fails, what was there stays, and nothing is left beside it.
func TestFailed(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x")
	livetest.WriteFile(t, name, "before")
	place, err := outfile.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("full")
	err = place.Write(nil, func(f *os.File, _ bool) error {
		f.WriteString("half")
		return full
	})
	if !errors.Is(err, full) {
		t.Error(err)
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != "before" {
		t.Errorf("%q, %v", b, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("beside it are %v, %v", left, err)
	}
}

// TestLongNames: a file may have as long a name as file systems take, 255 bytes, in whatever letters,
// and be replaced.
func TestLongNames(t *testing.T) {
	for _, letter := range []string{"x", "é", "長", "\U0001F525"} {
		name := filepath.Join(t.TempDir(), strings.Repeat(letter, 255/len(letter)))
		for _, text := range []string{"before", "after"} {
			place, err := outfile.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			err = place.Write(nil, func(f *os.File, _ bool) error {
				_, err := f.WriteString(text)
				return err
			})
			if b, _ := os.ReadFile(name); err != nil || string(b) != text {
				t.Errorf("%s: %q, %v", letter, b, err)
			}
		}
	}
}

// TestDirectoryName: an output that is called as a directory is none, whether that is there or not.
func TestDirectoryName(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{dir, dir + "/", dir + "/new/", "/"} {
		if p, err := outfile.Find(name); err == nil {
			t.Errorf("%s: %+v, want an error", name, p)
		} else if !strings.Contains(err.Error(), "a directory") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}
