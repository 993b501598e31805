//go:build !portable

package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"kprof/perfevent/livetest"
)

func TestOpenNeverWaits(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("fifo", link); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ root, path string }{
		{"", fifo}, {"", link}, {"", "/dev/zero"}, {"", "/dev/tty"}, {"", dir},
		{dir, "/fifo"}, {dir, "link"}, {dir, "/"}, {"/dev", "zero"},
	} {
		done := make(chan error, 1)
		go func() {
			f, _, err := Open(test.root, test.path)
			if err == nil {
				f.Close()
			}
			done <- err
		}()
		select {
		case err := <-done:
			if !errors.Is(err, ErrNotRegular) && test.path != "/dev/tty" || err == nil {
				t.Errorf("Open(%q, %q): %v, want %v", test.root, test.path, err, ErrNotRegular)
			}
		case <-time.After(time.Minute):
			t.Fatalf("Open(%q, %q) waits", test.root, test.path)
		}
	}
}

// finders are both ways to look a path up.
var finders = map[string]finder{"openat2": lookupKernel, "walk": walk}

func TestOpenBelowRoot(t *testing.T) {
	outer := t.TempDir()
	root := filepath.Join(outer, "root")
	if err := os.MkdirAll(filepath.Join(root, "usr/lib/debug/.build-id/ab"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"secret": "outside", "root/usr/lib/a": "inside"} {
		if err := os.WriteFile(filepath.Join(outer, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"lib": "usr/lib", "up": "../secret", "abs": filepath.Join(outer, "secret"), "inner": "/usr/lib/a",
		"far": "../../../../../../usr/lib/a", "loop": "loop", "self": "/proc/self/fd/0", "usr/lib/debug/.build-id/ab/cd": "../../../a",
	} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	for how, find := range finders {
		for path, links := range map[string]bool{
			"/usr/lib/a": false, "usr//lib/./a": false, "/../usr/lib/a": false, "usr/lib/../lib/a": false,
			"lib/a": true, "/lib/a": true, "inner": true, "far": true, "usr/lib/debug/.build-id/ab/cd": true, "lib/debug/.build-id/ab/cd": true,
		} {
			for _, noSymlinks := range []bool{false, true} {
				f, info, err := openBy(find, path, Options{Root: root, NoSymlinks: noSymlinks})
				if links && noSymlinks {
					if !errors.Is(err, syscall.ELOOP) {
						t.Errorf("%s %q without links: %v, want %v", how, path, err, syscall.ELOOP)
					}
					continue
				}
				if err != nil {
					t.Errorf("%s %q: %v", how, path, err)
					continue
				}
				text, err := io.ReadAll(f)
				f.Close()
				if err != nil || string(text) != "inside" || info.Size() != int64(len("inside")) {
					t.Errorf("%s %q reads %q (size %d), %v, want %q", how, path, text, info.Size(), err, "inside")
				}
			}
		}
		for path, want := range map[string]error{
			"up": fs.ErrNotExist, "abs": fs.ErrNotExist, "../secret": fs.ErrNotExist, "none": fs.ErrNotExist, "": fs.ErrNotExist,
			"loop": syscall.ELOOP, "self": fs.ErrNotExist, "usr/lib/a/b": syscall.ENOTDIR, "usr": ErrNotRegular, "/": ErrNotRegular, "a\x00b": syscall.EINVAL,
		} {
			f, _, err := openBy(find, path, Options{Root: root})
			if err == nil {
				f.Close()
			}
			if path == "" && errors.Is(err, ErrNotRegular) {
				continue // the root itself
			}
			if !errors.Is(err, want) {
				t.Errorf("%s %q: %v, want %v", how, path, err, want)
			}
		}
	}
}

// TestOpenKernelFiles: neither the kernel's files nor what its own links lead to are
// opened, however they are reached.
func TestOpenKernelFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := livetest.Open(t, os.Open, file)
	link := fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	for name, target := range map[string]string{"proc": "/proc/version", "sys": "/sys/kernel/notes", "fd": link, "root": "/proc/self/root/" + file} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for how, find := range finders {
		for _, path := range []string{
			"/proc/version", "/proc/self/status", "/sys/kernel/notes", "/proc/1/../version", link, "/proc/self/root" + file, "/proc/self/cwd/x",
			filepath.Join(dir, "proc"), filepath.Join(dir, "sys"), filepath.Join(dir, "fd"), filepath.Join(dir, "root"),
		} {
			f, _, err := openBy(find, path, Options{})
			if err == nil {
				f.Close()
			}
			if _, missing := os.Stat("/sys/kernel/notes"); missing != nil && errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if !errors.Is(err, ErrNotRegular) && !errors.Is(err, syscall.ELOOP) && !(how == "walk" && errors.Is(err, fs.ErrPermission)) {
				t.Errorf("%s %s: %v, want a refusal", how, path, err)
			}
		}
	}
	for _, opened := range []func() (*os.File, fs.FileInfo, error){
		func() (*os.File, fs.FileInfo, error) { return OpenWith("/proc/version", Options{Kernel: true}) },
		func() (*os.File, fs.FileInfo, error) { return OpenLink(link) },
		func() (*os.File, fs.FileInfo, error) { return Open("/proc/self/root", file) },
	} {
		f, _, err := opened()
		if err != nil {
			t.Error(err)
			continue
		}
		f.Close()
	}
	version := livetest.Open(t, os.Open, "/proc/version")
	if f, _, err := OpenLink(fmt.Sprintf("/proc/self/fd/%d", version.Fd())); !errors.Is(err, ErrNotRegular) {
		f.Close()
		t.Errorf("a link to a file of procfs: %v", err)
	}
}

// TestOpenSwapped opens a path at which files and links change places all the time:
// what is opened is always the regular file.
func TestOpenSwapped(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("file"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(at("fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			os.Remove(at("next"))
			switch i % 3 {
			case 0:
				os.Link(at("file"), at("next"))
			case 1:
				os.Link(at("fifo"), at("next"))
			default:
				os.Symlink("/proc/kmsg", at("next"))
			}
			os.Rename(at("next"), at("x"))
		}
	}()
	for how, find := range finders {
		for range 3000 {
			f, _, err := openBy(find, "/x", Options{Root: dir, NoSymlinks: true})
			if err != nil {
				continue
			}
			b := make([]byte, 8)
			n, _ := f.Read(b)
			f.Close()
			if string(b[:n]) != "text" {
				t.Errorf("%s: read %q", how, b[:n])
			}
		}
	}
	close(stop)
	<-done
}

// TestOpenWithoutOpenat2 opens a file where a filter forbids the call, as containers'
// filters did for years.
func TestOpenWithoutOpenat2(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, errno := range []unix.Errno{unix.ENOSYS, unix.EPERM} {
		done := make(chan error)
		go func() {
			runtime.LockOSThread() // for good: the thread ends with its filter
			done <- func() error {
				if err := forbid(unix.SYS_OPENAT2, errno); err != nil {
					return err
				}
				if _, err := lookupKernel(unix.AT_FDCWD, dir, false); !errors.Is(err, errno) {
					return fmt.Errorf("openat2 is not forbidden: %v", err)
				}
				f, _, err := Open(dir, "/file")
				if err != nil {
					return err
				}
				return f.Close()
			}()
		}()
		if err := <-done; errors.Is(err, unix.EINVAL) {
			t.Skip("needs CONFIG_SECCOMP_FILTER")
		} else if err != nil {
			t.Errorf("%v: %v", errno, err)
		}
	}
}

// forbid makes a system call of this thread fail.
func forbid(call uint32, errno unix.Errno) error {
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // seccomp_data.nr
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: call},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0)
}
