//go:build linux && !portable

package outfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"kprof/perfevent/livetest"

	"golang.org/x/sys/unix"
)

func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestSeries: each output has a name that was nobody's, and of those the last are kept.
func TestSeries(t *testing.T) {
	at := time.Date(2031, 5, 28, 18, 16, 30, 157e6, time.FixedZone("east", 2*3600))
	for _, x := range []struct{ name, ending, want string }{
		{"perf.data", "", "perf.data.20310528161630%02d"},
		{"cpu.pb.gz", ".pb.gz", "cpu.20310528161630%02d.pb.gz"},
		{".svg", ".svg", ".svg.20310528161630%02d"},
	} {
		dir := t.TempDir()
		taken := filepath.Join(dir, fmt.Sprintf(x.want, 16))
		livetest.WriteFile(t, taken, "not ours")
		s := NewSeries(filepath.Join(dir, x.name), x.ending, 2)
		for i := range 4 {
			p, err := s.Find(at)
			if err != nil {
				t.Fatal(err)
			}
			f, publish, err := p.Create()
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(f, i)
			if _, err := os.Stat(p.Name()); err == nil {
				t.Errorf("%s is there before it is published", p.Name())
			}
			if err := errors.Join(publish(), f.Close()); err != nil {
				t.Fatal(err)
			}
			if err := s.Made(p); err != nil {
				t.Fatal(err)
			}
			p.Close()
		}
		// 15, 17 and 18 were made, and 15 was free again when there were three.
		want := []string{fmt.Sprintf(x.want, 15), fmt.Sprintf(x.want, 16), fmt.Sprintf(x.want, 18)}
		if got := names(t, dir); !slices.Equal(got, want) {
			t.Errorf("%s: there are %q, want %q", x.name, got, want)
		}
		if b, err := os.ReadFile(taken); err != nil || string(b) != "not ours" {
			t.Errorf("%s: what was there is %q, %v", x.name, b, err)
		}
	}
}

// TestPipe: what is no named pipe is not opened as one.
func TestPipe(t *testing.T) {
	dir := t.TempDir()
	pipe, file := filepath.Join(dir, "pipe"), filepath.Join(dir, "file")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	livetest.WriteFile(t, file, "")
	for _, name := range []string{pipe, file, filepath.Join(dir, "nothing"), "/dev/null"} {
		p, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := p.Pipe()
		if p.Close(); (err == nil) != (name == pipe) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			f.Close()
		}
	}
	p, err := Find(pipe)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := errors.Join(os.Rename(pipe, pipe+"2"), unix.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	if f, err := p.Pipe(); err == nil {
		f.Close()
		t.Error("another pipe is opened than was found")
	}
}

// TestSeriesRemovesItsOwn: what somebody else has put in the place of a file is not removed.
func TestSeriesRemovesItsOwn(t *testing.T) {
	dir := t.TempDir()
	s := NewSeries(filepath.Join(dir, "x"), "", 1)
	var first string
	for i := range 2 {
		p, err := s.Find(time.Unix(int64(i), 0))
		if err != nil {
			t.Fatal(err)
		}
		f, publish, err := p.Create()
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(publish(), f.Close()); err != nil {
			t.Fatal(err)
		}
		if err := s.Made(p); err != nil {
			t.Fatal(err)
		}
		p.Close()
		if i == 0 {
			first = p.Name()
			other := filepath.Join(dir, "other")
			livetest.WriteFile(t, other, "")
			if err := os.Rename(other, first); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := names(t, dir); len(got) != 2 || !strings.HasSuffix(first, got[0]) {
		t.Errorf("there are %q", got)
	}
}

// TestSeriesMoved: a file, or its directory, that somebody has taken away is no error, and not counted.
func TestSeriesMoved(t *testing.T) {
	dir := t.TempDir()
	s := NewSeries(filepath.Join(dir, "in", "x"), "", 2)
	put := func(i int) *Place {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, "in"), 0o700); err != nil {
			t.Fatal(err)
		}
		p, err := s.Find(time.Unix(int64(i), 0))
		if err != nil {
			t.Fatal(err)
		}
		f, publish, err := p.Create()
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(publish(), f.Close()); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for i := range 6 {
		p := put(i)
		if i%2 == 1 {
			if err := os.Remove(p.Name()); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Made(p); err != nil {
			t.Errorf("file %d: %v", i, err)
		}
		p.Close()
	}
	if got := names(t, filepath.Join(dir, "in")); len(got) != 2 {
		t.Errorf("there are %q", got)
	}
	p := put(6)
	defer p.Close()
	if err := os.RemoveAll(filepath.Join(dir, "in")); err != nil {
		t.Fatal(err)
	}
	if err := s.Made(p); err != nil {
		t.Errorf("without its directory: %v", err)
	}
	if err := (&madeFile{name: p.Name()}).remove(); err != nil {
		t.Errorf("remove without its directory: %v", err)
	}
}
