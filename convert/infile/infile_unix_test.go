//go:build unix

package infile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestOpenPipe opens pipes without a writer, and with one that takes its time.
func TestOpenPipe(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err := Open(fifo); err == nil || !strings.Contains(err.Error(), "a pipe that nobody writes to") {
		t.Errorf("opened %v, %v", f, err)
	}
	w, err := os.OpenFile(fifo, os.O_RDWR, 0) // which waits for no reader
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		time.Sleep(writerWait + time.Second)
		_, err := w.WriteString("late")
		if err := errors.Join(err, w.Close()); err != nil {
			t.Error(err)
		}
	}()
	f, err := Open(fifo)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err := io.ReadAll(f); string(b) != "late" || err != nil {
		t.Errorf("read %q, %v", b, err)
	}
}

// TestOpenOther opens a file, and none.
func TestOpenOther(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err := io.ReadAll(f); string(b) != "text" || err != nil {
		t.Errorf("read %q, %v", b, err)
	}
	if _, err := Open(name + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}
