//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// source is a program in C, and flags of the compiler beyond -static and
// -fno-omit-frame-pointer.
type source struct {
	text  string
	flags []string
}

// programs are what tests record in guests too, which have no compiler: there they
// are in the directory KPROF_PREBUILT. testdata/rig.sh has them put there, by this
// test program with KPROF_PREBUILD and the compiler that CC names.
var programs = map[string]source{
	"base": {diffLoad, []string{"-O1", `-DNAME="slow"`, "-DSLOW=100"}},
	"new":  {diffLoad, []string{"-O2", "-fno-unroll-loops", `-DNAME="slow.constprop.0"`, "-DSLOW=155"}},

	"deleted":   keptSource("deleted"),
	"replaced":  keptSource("replaced"),
	"contained": keptSource("contained"),
	"impostor":  keptSource("impostor"),
}

// compile makes programs in a directory.
func compile(t *testing.T, dir string, names ...string) {
	t.Helper()
	if !livetest.InGuest() {
		livetest.RequirePrograms(t, "gcc")
	}
	for _, name := range names {
		var err error
		if program := filepath.Join(dir, name); livetest.InGuest() {
			err = copyProgram(filepath.Join(os.Getenv("KPROF_PREBUILT"), name), program)
		} else {
			err = programs[name].compile("gcc", program)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// prebuild compiles all programs into a directory, and those of TestLiveCallPaths.
func prebuild(dir, compiler string) int {
	for name, s := range programs {
		if err := s.compile(compiler, filepath.Join(dir, name)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if err := prebuildPaths(dir, compiler); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (s source) compile(compiler, program string) error {
	flags := append([]string{"-fno-omit-frame-pointer", "-static", "-x", "c", "-o", program}, s.flags...)
	cmd := exec.Command(compiler, append(flags, "-")...)
	cmd.Stdin = strings.NewReader(s.text)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}

func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o700)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
