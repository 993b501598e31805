package elfsym

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/livetest"
	"kprof/symbolize/internal/srcline"
)

// compileSplit compiles a program of testdata with its debug information in a .dwo file.
func compileSplit(t *testing.T, compiler, source string, flags ...string) (program, dwo string) {
	t.Helper()
	object := filepath.Join(t.TempDir(), "prog.o")
	program = strings.TrimSuffix(object, ".o")
	livetest.Run(t, compiler, append(flags, "-g", "-gsplit-dwarf", "-c", "-o", object, filepath.Join("testdata", source))...)
	livetest.Run(t, compiler, append(flags, "-Wl,--build-id", "-o", program, object)...)
	return program, program + ".dwo"
}

// TestSplitDWARF compares programs whose debug information is in .dwo files with the same
// programs that have it all, wherever the .dwo files are.
func TestSplitDWARF(t *testing.T) {
	for _, test := range []struct {
		flags  string
		packer string // binutils 2.40 and LLVM 14 pack no DWARF 5 of GCC
	}{
		{"gcc inline.c -O2 -gdwarf-4", "dwp"},
		{"gcc inline.c -O2 -gdwarf-5", ""},
		{"gcc inline.c -O2 -gdwarf-5 -gz", ""},
		{"g++ inline.cc -O2 -gdwarf-5 -fdebug-types-section", ""},
		{"clang++ inline.cc -O2 -gdwarf-4", "llvm-dwp"},
		{"clang++ inline.cc -O2 -gdwarf-5", "llvm-dwp"},
	} {
		t.Run(test.flags, func(t *testing.T) {
			args := strings.Fields(test.flags)
			livetest.RequirePrograms(t, args[0])
			want := allFrames(t, open(t, compile(t, args[0], args[1], args[2:]...), Options{DWARF: true}), 1000)
			path, dwo := compileSplit(t, args[0], args[1], args[2:]...)
			same := func(how, path string, opts Options) {
				t.Helper()
				opts.DWARF = true
				f := open(t, path, opts)
				if diff := cmp.Diff(want, allFrames(t, f, 1000)); diff != "" || f.DebugErr() != nil {
					t.Errorf("%s: %v\n%s", how, f.DebugErr(), diff)
				}
			}
			if test.packer != "" {
				livetest.RequirePrograms(t, test.packer)
				livetest.Run(t, test.packer, "-e", path, "-o", filepath.Join(filepath.Dir(path), "package"))
			}
			same("where it was built", path, Options{})

			lone := filepath.Join(t.TempDir(), "prog")
			livetest.Run(t, "cp", path, lone)
			beside := filepath.Join(filepath.Dir(lone), filepath.Base(dwo))
			livetest.Run(t, "mv", dwo, beside)
			same("beside the program", lone, Options{})

			if err := os.Remove(beside); err != nil {
				t.Fatal(err)
			}
			if test.packer != "" {
				livetest.Run(t, "mv", filepath.Join(filepath.Dir(path), "package"), lone+".dwp")
				same("in a package beside the program", lone, Options{})
				dirs := t.TempDir()
				livetest.Run(t, "mkdir", "-p", filepath.Join(dirs, filepath.Dir(lone)))
				livetest.Run(t, "mv", lone+".dwp", filepath.Join(dirs, lone+".dwp"))
				same("in a package among debug files", lone, Options{DebugDirs: []string{dirs}})
			}

			f := open(t, lone, Options{DWARF: true})
			lines := 0
			for _, frame := range allFrames(t, f, 1000) {
				if strings.Contains(frame, args[1]+":") {
					lines++
				}
			}
			err := f.DebugErr()
			if lines == 0 || !errors.Is(err, srcline.ErrSplit) || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), filepath.Base(dwo)) ||
				!strings.Contains(err.Error(), lone+".dwp") {
				t.Errorf("without it: %d lines, error %v", lines, err)
			}

			_, other := compileSplit(t, args[0], args[1], append(args[2:], "-O1")...)
			livetest.Run(t, "mv", other, beside)
			f = open(t, lone, Options{DWARF: true})
			allFrames(t, f, 10)
			if err := f.DebugErr(); !errors.Is(err, srcline.ErrSplit) || !errors.Is(err, errOtherBuild) {
				t.Errorf("with another one: %v, want %v", err, errOtherBuild)
			}
		})
	}
}
