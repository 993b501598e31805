package tracer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kprof/convert/trace/tracedat"
	"kprof/perfevent/livetest"
	"kprof/perfevent/ringpage"
	"kprof/perfevent/tracefs"
)

// TestLiveAttach: what is in an instance that somebody has made is read, each event once, with
// what else is written meanwhile; the instance is left as it is.
func TestLiveAttach(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	fs := livetest.TracefsMounted(t)
	t.Run("pages", func(t *testing.T) { testAttach(t, fs, 0) })
	if _, err := os.Stat(filepath.Join(fs.Path(), "buffer_subbuf_size_kb")); err == nil { // Linux 6.8
		t.Run("sub-buffers", func(t *testing.T) { testAttach(t, fs, 128) })
	}
}

// testAttach reads an instance with sub-buffers of so many KiB, 0 for the kernel's default.
func testAttach(t *testing.T, fs *tracefs.FS, subBufferKB int) {
	dir := filepath.Join(fs.Path(), "instances", fmt.Sprintf("test-attach-%d", os.Getpid()))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	if subBufferKB > 0 {
		if err := os.WriteFile(filepath.Join(dir, "buffer_subbuf_size_kb"), fmt.Append(nil, subBufferKB), 0); err != nil {
			t.Fatal(err)
		}
	}
	marker, err := os.OpenFile(filepath.Join(dir, "trace_marker"), os.O_WRONLY, 0)
	livetest.CloseAtEnd(t, marker, err)
	const lines = 500
	note := func(from int) {
		for i := range lines {
			if _, err := fmt.Fprintf(marker, "line %d.\n", from+i); err != nil {
				t.Fatal(err)
			}
		}
	}
	note(0)
	tr, err := Attach(fs, filepath.Base(dir), nil)
	livetest.CloseAtEnd(t, tr, err)
	if on, err := tr.Tracing(); err != nil || !on {
		t.Errorf("tracing %v, %v", on, err)
	}
	spoolFile, err := os.Create(filepath.Join(t.TempDir(), "spool"))
	livetest.CloseAtEnd(t, spoolFile, err)
	spool := NewSpool(spoolFile, tr.PageSize())
	ctx, cancel := context.WithCancel(context.Background())
	stats, err := tr.Run(ctx, spool, func() error { note(lines); cancel(); return nil }, nil)
	if err != nil || stats.Events != 2*lines || stats.Lost != 0 {
		t.Fatalf("%+v, %v", stats, err)
	}
	f, err := tr.File(spool, &stats)
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(t.TempDir(), "trace.dat"))
	livetest.CloseAtEnd(t, out, err)
	if err := f.Write(out); err != nil {
		t.Fatal(err)
	}
	st, err := out.Stat()
	if err != nil {
		t.Fatal(err)
	}
	dat, err := tracedat.Open(out, st.Size())
	livetest.CloseAtEnd(t, dat, err)
	if len(dat.Formats) < 100 || dat.Options.Clock != "local" || len(dat.Kallsyms) == 0 || !strings.Contains(dat.Cmdlines, fmt.Sprintf("%d ", os.Getpid())) {
		t.Errorf("%d formats, clock %q", len(dat.Formats), dat.Options.Clock)
	}
	if l, err := ringpage.ParseHeaderPage(dat.HeaderPage, dat.Order); err != nil || l != dat.Buffers[0].Layout || l.Size != tr.PageSize() || subBufferKB > 0 && l.Size != subBufferKB<<10 {
		t.Errorf("%+v, %v, pages of %d bytes", l, err, tr.PageSize())
	}
	seen := map[int]int{}
	for _, c := range dat.Buffers[0].CPUs {
		pages := dat.Pages(&dat.Buffers[0], c, 0)
		for {
			b, err := pages.Next()
			if err != nil {
				break
			}
			var page ringpage.Page
			if err := page.Load(&dat.Buffers[0].Layout, b); err != nil {
				t.Fatal(err)
			}
			for data, ok := page.Next(); ok; data, ok = page.Next() {
				var n int
				if i := bytes.Index(data, []byte("line ")); i < 0 {
					t.Errorf("event %q", data)
				} else if _, err := fmt.Sscanf(string(data[i:]), "line %d.", &n); err != nil {
					t.Errorf("event %q: %v", data, err)
				}
				seen[n]++
			}
		}
	}
	for i := range 2 * lines {
		if seen[i] != 1 {
			t.Errorf("line %d: %d times", i, seen[i])
		}
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
	if tr, err := Attach(fs, filepath.Base(dir)+"x", nil); err == nil || !strings.Contains(err.Error(), "did you mean "+filepath.Base(dir)) {
		t.Errorf("%v, %v", tr, err)
	}
}

// TestLiveRemoveStale: what processes that are gone have left is removed, but for what somebody
// reads, which is told and hinders nobody.
func TestLiveRemoveStale(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	livetest.ChangeMachine(t) // any kprof trace that begins removes them as well
	fs := livetest.TracefsMounted(t)
	owner, err := tracefs.Self()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, more := range []string{"", ".123"} {
		owner.Start++ // of a process that is gone
		dir := filepath.Join(fs.Path(), "instances", owner.Group()+more)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Remove(dir) }) // it is removed already, where all is well
		names = append(names, owner.Group()+more)
	}
	slices.Sort(names)
	reader, err := os.Open(filepath.Join(fs.Path(), "instances", names[0], "trace_pipe"))
	if err != nil {
		t.Fatal(err)
	}
	removed, err := RemoveStale(fs)
	if !errors.Is(err, unix.EBUSY) || !slices.Equal(removed, names[1:]) {
		t.Errorf("removed %q, %v", removed, err)
	}
	if err := reader.Close(); err != nil {
		t.Error(err)
	}
	if removed, err := RemoveStale(fs); err != nil || !slices.Equal(removed, names[:1]) {
		t.Errorf("removed %q, %v", removed, err)
	}
}

// TestLiveRemoveStaleTogether: of several that begin at once each finds what is gone already.
func TestLiveRemoveStaleTogether(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Tracefs)
	livetest.ChangeMachine(t)
	fs := livetest.TracefsMounted(t)
	owner, err := tracefs.Self()
	if err != nil {
		t.Fatal(err)
	}
	for range 16 {
		owner.Start++ // of a process that is gone
		dir := filepath.Join(fs.Path(), "instances", owner.Group())
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Remove(dir) })
	}
	errs := make(chan error)
	for range 4 {
		go func() {
			_, err := RemoveStale(fs)
			errs <- err
		}()
	}
	for range 4 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
}
