package perfdata

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A recording in a directory, as perf record --threads writes it, has its header,
// features and side-band in a file "data", and the records of each CPU's ring in
// "data.0", "data.1" and so on, which are nothing but records. That of perf record
// --kcore has everything in "data". The feature DIR_FORMAT says which it is
// (tools/perf/util/data.h).
const (
	dirHeader     = "data"
	dirPart       = "data."
	dirFiles      = 1 // PERF_DIR_VERSION
	dirSingleFile = 2 // PERF_DIR_SINGLE_FILE
)

// What perf record --kcore copies of /proc beside the recording
// (tools/perf/util/data.c, perf_data__kallsyms_name; symbol-elf.c, kcore_copy). The
// kernel's code, kcore_dir/kcore, is not read.
const (
	dirKallsyms = "kcore_dir/kallsyms"
	dirModules  = "kcore_dir/modules"
)

// part is a file of a recording in a directory that holds records alone.
type part struct {
	name string
	at   io.ReaderAt
	size int64
}

// openDir opens the recording in a directory.
func openDir(dir string) (*Reader, error) {
	f, err := openRegular(filepath.Join(dir, dirHeader))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("a directory without a recording: it has no file %q", dirHeader)
	}
	if err != nil {
		return nil, err
	}
	r, err := readOwn(f, dirHeader)
	if err != nil {
		return nil, err
	}
	if r.dir, err = os.OpenRoot(dir); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	if r.Features.DirFormat == dirSingleFile {
		return r, nil
	}
	if err := r.openParts(dir); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// openParts opens the files beside the header's, in the order of their numbers, of which
// none should be missing.
func (r *Reader) openParts(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	numbers := map[string]uint64{}
	var names []string
	for _, e := range entries {
		if n, ok := strings.CutPrefix(e.Name(), dirPart); ok {
			if numbers[e.Name()], err = strconv.ParseUint(n, 10, 32); err == nil {
				names = append(names, e.Name())
			}
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(numbers[a], numbers[b]) })
	r.missing = ""
	if len(names) == 0 && r.Features.DirFormat == dirFiles {
		r.missing = "the files data.0, data.1 and so on are missing"
	}
	for i, name := range names {
		if numbers[name] > uint64(i) && r.missing == "" {
			r.missing = fmt.Sprintf("the file data.%d is missing", i)
		}
		f, err := openRegular(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		r.files = append(r.files, f)
		st, err := f.Stat()
		if err != nil {
			return err
		}
		r.parts = append(r.parts, part{name, f, st.Size()})
	}
	if len(names) < leastParts(&r.Features) && r.missing == "" {
		r.missing = fmt.Sprintf("the file data.%d is missing", len(names))
	}
	return nil
}

// leastParts is how many files there are at least, numbered from 0, which nothing but the command
// tells: perf has a thread, and a file, for each CPU that is online, unless it is given other ones
// (tools/perf/builtin-record.c, record__init_thread_masks). It is 0 where that is not known.
func leastParts(f *Features) int {
	own := f.Cmdline // and those of the command that perf ran, where nothing is between
	if i := slices.Index(own, "--"); i >= 0 {
		own = own[:i]
	}
	threads := "" // the option with its value
	for _, arg := range own {
		option, _ := strings.CutPrefix(arg, "--")
		switch {
		case strings.HasPrefix(arg, "-C"), option != arg && strings.HasPrefix(option, "cpu"):
			return 0
		case option != arg && strings.HasPrefix(option, "threads") && threads == "":
			threads = option
		}
	}
	if threads != "threads" && threads != "threads=cpu" {
		return 0
	}
	return int(min(f.CPUs.Online, math.MaxInt32))
}

// copiedKernelSymbols returns the kernel's symbols that lie beside the recording in its
// directory, nil for none.
func (r *Reader) copiedKernelSymbols() (*KernelSymbols, error) {
	kallsyms, err := r.readCopy(dirKallsyms, maxKernelSymbols)
	if kallsyms == nil {
		return nil, err
	}
	modules, err := r.readCopy(dirModules, maxKernelSymbols-len(kallsyms))
	return &KernelSymbols{Kallsyms: kallsyms, Modules: modules}, err
}

// readCopy reads a file of at most limit bytes in the directory of a recording, nil if it
// is not there. Links do not lead out of the directory.
func (r *Reader) readCopy(name string, limit int) ([]byte, error) {
	st, err := r.dir.Stat(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("kernel symbols: %w", err)
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("kernel symbols: %s is not a regular file", name)
	case st.Size() > int64(limit):
		return nil, fmt.Errorf("kernel symbols: %s of %d bytes, at most %d", name, st.Size(), limit)
	}
	f, err := r.dir.Open(name)
	if err != nil {
		return nil, fmt.Errorf("kernel symbols: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, st.Size()))
	if err != nil {
		return nil, fmt.Errorf("kernel symbols: %w", err)
	}
	return b, nil
}

// openRegular opens a file by a name that was found, not given: it must not be
// something that an open waits for.
func openRegular(name string) (*os.File, error) {
	st, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	return os.Open(name)
}
