package perfdata_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
)

// writeDir writes a recording in a directory: what comes before the first round
// goes into "data", and each round of its own into "data.0", "data.1" and so on.
// It leaves out the last cut bytes of data.0.
func writeDir(t *testing.T, text string, cut int) string {
	t.Helper()
	head, _, _ := strings.Cut(text, "round\n")
	r := perftext.MustParse(head)
	b, err := r.Assemble(perftext.Form{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name string, b []byte) {
		livetest.WriteFile(t, filepath.Join(dir, name), b)
	}
	write("data", b)
	for i, b := range perftext.MustParse(text).Records(abi.LittleEndian)[1:] {
		if i == 0 {
			b = b[:len(b)-cut]
		}
		write("data."+string(rune('0'+i)), b)
	}
	write("data.txt", []byte("no part of it"))
	return dir
}

const dirText = `
event cycles type=hardware
comm t=1 pid=1 comm=a
round
sample t=3 pid=1 user 0x30
sample t=5 pid=1 user 0x50
round
sample t=2 pid=1 user 0x20
`

// walkDir returns the times of samples and the error that ended the walk.
func walkDir(t *testing.T, dir string) (times []uint64, err error) {
	t.Helper()
	r := perftext.Open(t, dir)
	for rec, err := range r.Records() {
		if err != nil {
			return times, err
		}
		if rec.Type == abi.RecordSample {
			var s abi.Sample
			e := r.Events.OfSample(rec.Payload)
			if err := e.Layout.DecodeSample(&s, rec.Misc, rec.Payload); err != nil {
				t.Fatal(err)
			}
			times = append(times, s.Time)
		}
	}
	return times, nil
}

// TestDirectory reads the files of a directory one after the other.
func TestDirectory(t *testing.T) {
	times, err := walkDir(t, writeDir(t, dirText, 0))
	if diff := cmp.Diff([]uint64{3, 5, 2}, times); diff != "" || err != nil {
		t.Errorf("error %v, times (-want +got):\n%s", err, diff)
	}
}

// TestDirectoryTruncated says which file ends too early, and reads the others.
func TestDirectoryTruncated(t *testing.T) {
	times, err := walkDir(t, writeDir(t, dirText, 3))
	var te *perfdata.TruncatedError
	if !errors.As(err, &te) || te.File != "data.0" || te.Offset == 0 {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff([]uint64{3, 2}, times); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
}

// TestDirectoryMissing says which file is not there, and reads the others.
func TestDirectoryMissing(t *testing.T) {
	dir := writeDir(t, dirText, 0)
	if err := os.Remove(filepath.Join(dir, "data.0")); err != nil {
		t.Fatal(err)
	}
	times, err := walkDir(t, dir)
	var te *perfdata.TruncatedError
	if !errors.As(err, &te) || te.Offset != -1 || te.Error() != "recording is not complete: the file data.0 is missing" {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff([]uint64{2}, times); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
}

// TestDirectoryAlone: the file that says that others are beside it has no samples without them.
func TestDirectoryAlone(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "data")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w, err := perfdata.NewWriter(f, perftext.MustParse(dirText).Events, perfdata.Features{}, perfdata.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Close(perfdata.Features{DirFormat: 1}), f.Close()); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{name: "give the directory", dir: "data.0, data.1 and so on are missing"} {
		times, err := walkDir(t, path)
		var te *perfdata.TruncatedError
		if !errors.As(err, &te) || !strings.HasSuffix(te.Error(), want) || len(times) > 0 {
			t.Errorf("%s: %v, error %v", path, times, err)
		}
	}
}

// TestDirectoryFIFO does not wait for somebody to write into what is no file.
func TestDirectoryFIFO(t *testing.T) {
	for _, name := range []string{"data", "data.2"} {
		dir := writeDir(t, dirText, 0)
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		livetest.MakeFIFO(t, filepath.Join(dir, name))
		if r, err := perfdata.Open(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s is a FIFO: error %v", name, err)
			if err == nil {
				r.Close()
			}
		}
	}
}

// TestDirectoryWithout refuses a directory that is no recording.
func TestDirectoryWithout(t *testing.T) {
	if _, err := perfdata.Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "without a recording") {
		t.Errorf("error %v", err)
	}
}

// TestDirectoryKernelSymbols: what perf record --kcore copies beside a recording are its
// kernel's symbols. What lies there instead of a copy is not read.
func TestDirectoryKernelSymbols(t *testing.T) {
	const kallsyms, modules = "ffffffff81000000 T _text\nffffffff81000100 T kfun\n", "ext4 1048576 1 - Live 0xffffffffc0000000\n"
	outside := filepath.Join(t.TempDir(), "kallsyms")
	livetest.WriteFile(t, outside, kallsyms)
	for name, tt := range map[string]struct {
		make func(t *testing.T, dir string)
		want *perfdata.KernelSymbols
		err  string
	}{
		"nothing": {make: func(*testing.T, string) {}},
		"modules alone": {make: func(t *testing.T, dir string) {
			livetest.WriteFile(t, filepath.Join(dir, "modules"), modules)
		}},
		"kallsyms alone": {make: func(t *testing.T, dir string) {
			livetest.WriteFile(t, filepath.Join(dir, "kallsyms"), kallsyms)
		}, want: &perfdata.KernelSymbols{Kallsyms: []byte(kallsyms)}},
		"both": {make: func(t *testing.T, dir string) {
			livetest.WriteFile(t, filepath.Join(dir, "kallsyms"), kallsyms)
			livetest.WriteFile(t, filepath.Join(dir, "modules"), modules)
		}, want: &perfdata.KernelSymbols{Kallsyms: []byte(kallsyms), Modules: []byte(modules)}},
		"link to the outside": {make: func(t *testing.T, dir string) {
			if err := os.Symlink(outside, filepath.Join(dir, "kallsyms")); err != nil {
				t.Fatal(err)
			}
		}, err: "escapes"},
		"FIFO": {make: func(t *testing.T, dir string) {
			livetest.MakeFIFO(t, filepath.Join(dir, "kallsyms"))
		}, err: "not a regular file"},
		"too large": {make: func(t *testing.T, dir string) {
			livetest.WriteFile(t, filepath.Join(dir, "kallsyms"), kallsyms)
			if err := os.Truncate(filepath.Join(dir, "kallsyms"), 1<<30); err != nil {
				t.Fatal(err)
			}
		}, err: "at most"},
		"modules too large": {make: func(t *testing.T, dir string) {
			livetest.WriteFile(t, filepath.Join(dir, "kallsyms"), kallsyms)
			livetest.WriteFile(t, filepath.Join(dir, "modules"), modules)
			if err := os.Truncate(filepath.Join(dir, "modules"), 256<<20); err != nil {
				t.Fatal(err)
			}
		}, want: &perfdata.KernelSymbols{Kallsyms: []byte(kallsyms)}, err: "at most"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := writeDir(t, dirText, 0)
			beside := filepath.Join(dir, "kcore_dir")
			if err := os.Mkdir(beside, 0o700); err != nil {
				t.Fatal(err)
			}
			tt.make(t, beside)
			got, err := perftext.Open(t, dir).KernelSymbols()
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
		})
	}
}
