package symbols

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"kprof/symbolize"
	"kprof/symbolize/mapping"
	"kprof/symbolize/regular"
)

// nobody is the number of a process that there is not.
const nobody = 1 << 30

// mapOf is what the kernel says when a process maps the file at path.
func mapOf(t *testing.T, path string, pid int, start uint64) Map {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	id, _ := regular.Identify(info)
	return Map{PID: pid, Start: start, Limit: start + 0x1000, Path: path, Inode: id.Inode}
}

// contents returns what is kept of a mapping, empty if nothing is.
func contents(t *testing.T, k *FileRetainer, pid int, start uint64, path string) string {
	t.Helper()
	at, err := k.Retained(pid, start, path)
	if err != nil || at == "" {
		return ""
	}
	b, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFileRetainer(t *testing.T) {
	dir := t.TempDir()
	path, next := filepath.Join(dir, "prog"), filepath.Join(dir, "next")
	write(t, path, "first")
	write(t, next, "second")
	k := NewFileRetainer()
	defer k.Close()
	first := mapOf(t, path, nobody, 0x1000)
	k.Mapped(first)
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
	k.Mapped(mapOf(t, path, nobody+1, 0x1000))
	again := first
	again.PID = nobody + 2
	k.Mapped(again)
	for _, tt := range []struct {
		pid  int
		want string
	}{{nobody, "first"}, {nobody + 1, "second"}, {nobody + 2, "first"}} {
		if got := contents(t, k, tt.pid, 0x1000, path); got != tt.want {
			t.Errorf("process %d mapped %q, want %q", tt.pid, got, tt.want)
		}
	}

	// A number is used again, by a process that maps the first file.
	again.PID = nobody + 1
	k.Mapped(again)
	if got := contents(t, k, nobody+1, 0x1000, path); got != "first" {
		t.Errorf("mapped anew: %q, want first", got)
	}

	// Too late: another file is at the path. A later process has it still.
	missed, late := filepath.Join(dir, "missed"), filepath.Join(dir, "late")
	write(t, missed, "missed")
	write(t, late, "late")
	m := mapOf(t, missed, nobody, 0x5000)
	if err := os.Rename(late, missed); err != nil {
		t.Fatal(err)
	}
	k.Mapped(m)
	if _, err := k.Retained(nobody, 0x5000, missed); !errors.Is(err, errReplaced) {
		t.Errorf("error %v, want that the file was replaced", err)
	}
	s := symbolize.New(symbolize.Options{Retained: k})
	defer s.Close()
	if _, err := s.Resolve(t.Context(), symbolize.Mapping{Kind: mapping.User, PID: nobody, Start: 0x5000, File: missed}, []uint64{1}); !errors.Is(err, errReplaced) {
		t.Errorf("error %v, want that the file was replaced", err)
	}
	if at, err := k.Retained(nobody, 0, "/never/mapped"); at != "" || err != nil {
		t.Errorf("never mapped: %v, %v", at, err)
	}
}

// TestFileRetainerHoldsLittle: neither files nor processes are held without bounds.
func TestFileRetainerHoldsLittle(t *testing.T) {
	dir := t.TempDir()
	k := NewFileRetainer()
	k.limits = retainerLimits{files: 3, roots: 1, known: 5, others: 2, exited: 4}
	for i := range 20 {
		path := filepath.Join(dir, string(rune('a'+i)))
		write(t, path, path)
		m := mapOf(t, path, nobody+i, 0x1000)
		k.Forked(m.PID, 1)
		k.Mapped(m)
		kept := contents(t, k, m.PID, 0x1000, path) == path
		if want := i < 3; kept != want {
			t.Errorf("file %d is kept: %v, want %v", i, kept, want)
		}
		if _, err := k.Retained(m.PID, 0x1000, path); err != nil {
			t.Errorf("file %d is as if it were unknown, but for %v", i, err)
		}
		m.Inode, m.Path = m.Inode+1000, filepath.Join(dir, "a")
		k.Mapped(m) // other files of one path
		k.Exited(m.PID)
	}
	if len(k.files) > 5 || len(k.others) > 2 || len(k.rootOf) > 4+1 || k.open != 3 { // with their parent
		t.Errorf("%d files, %d others, %d processes, %d open", len(k.files), len(k.others), len(k.rootOf), k.open)
	}
	for range 2 {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestFileRetainerLooksSeldom: a process is looked at for a file that is not known yet, and where it
// has code that is in no file; if it has ended by then, its parent is.
func TestFileRetainerLooksSeldom(t *testing.T) {
	path, other := filepath.Join(t.TempDir(), "known"), filepath.Join(t.TempDir(), "other")
	write(t, path, "known")
	write(t, other, "other")
	self := os.Getpid()
	for _, x := range []struct {
		what   string
		m      Map
		looked bool
	}{
		{"what others have mapped", mapOf(t, path, self, 0x1000), false},
		{"the vdso", Map{PID: self, Path: "[vdso]"}, false},
		{"a file", mapOf(t, other, self, 0x2000), true},
		{"code without a file", Map{PID: self, Path: "//anon"}, true},
		{"what a child has mapped", mapOf(t, other, nobody, 0x2000), true},
	} {
		k := NewFileRetainer()
		k.Mapped(mapOf(t, path, nobody+1, 0x1000))
		k.Forked(self, 1)
		k.Executed(self)
		k.Forked(nobody, self)
		k.Mapped(x.m)
		if _, known := k.UserOf(self); known != x.looked {
			t.Errorf("%s: the process was looked at: %v", x.what, known)
		}
		if got := contents(t, k, nobody+1, 0x1000, path); got != "known" {
			t.Errorf("%s: kept is %q", x.what, got)
		}
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	}
}
