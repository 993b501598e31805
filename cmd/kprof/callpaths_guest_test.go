//go:build linux

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// guestPathBuilds are ways to build the programs of testdata/callpaths for guests, by their
// architecture. As of pathBuilds the first is always tested, the others where KPROF_CALL_PATHS
// has their names. gcc, g++, clang and rustc stand for those that compile for the guest.
var guestPathBuilds = map[string][]pathBuild{
	"amd64": {{"gcc static", "paths.c", "gcc -O2 -static"}},
	"arm64": {
		{"gcc static signed", "paths.c", "gcc -O2 -static -mbranch-protection=standard"},
		{"gcc", "paths.c", "gcc -O2"},
		{"gcc no-pie", "paths.c", "gcc -O2 -no-pie"},
		{"gcc static", "paths.c", "gcc -O2 -static"},
		{"gcc static-pie", "paths.c", "gcc -O2 -static-pie"},
		{"gcc signed", "paths.c", "gcc -O2 -mbranch-protection=standard"},
		{"gcc signed leaves", "paths.c", "gcc -O2 -mbranch-protection=pac-ret+leaf+b-key"},
		{"gcc lto", "paths.c", "gcc -O3 -flto"},
		{"gcc static lto", "paths.c", "gcc -O2 -static -flto"},
		{"gcc small", "paths.c", "gcc -Os"},
		{"gcc now", "paths.c", "gcc -O2 -Wl,-z,now"},
		{"gcc debug_frame", "paths.c", "gcc -O2 -g -fno-asynchronous-unwind-tables -fno-exceptions"},
		{"g++", "paths.c", "g++ -O2 -x c++"},
		{"g++ static", "paths.c", "g++ -O2 -static -x c++"},
		{"g++ signed", "paths.c", "g++ -O2 -mbranch-protection=standard -x c++"},
		{"g++ lto", "paths.c", "g++ -O3 -flto -x c++"},
		{"clang", "paths.c", "clang -O2"},
		{"clang static", "paths.c", "clang -O2 -static"},
		{"clang signed", "paths.c", "clang -O2 -mbranch-protection=standard"},
		{"clang lld", "paths.c", "clang -O2 -fuse-ld=lld"},
		{"clang lto", "paths.c", "clang -O3 -flto -fuse-ld=lld"},
		{"clang++", "paths.c", "clang++ -O2 -x c++"},
		{"clang++ lto", "paths.c", "clang++ -O3 -flto -fuse-ld=lld -x c++"},
		{"rustc", "paths.rs", "rustc -C opt-level=2 -C force-frame-pointers=no"},
		{"rustc static", "paths.rs", "rustc -C opt-level=2 -C force-frame-pointers=no -C target-feature=+crt-static"},
		{"rustc lto", "paths.rs", "rustc -C opt-level=3 -C force-frame-pointers=no -C lto=fat -C codegen-units=1"},
		{"rustc musl", "paths.rs", "rustc -C opt-level=2 -C force-frame-pointers=no --target aarch64-unknown-linux-musl"},
	},
}

// selectedPaths returns the builds whose names KPROF_CALL_PATHS, a regular expression, has; without
// it the first one.
func selectedPaths(builds []pathBuild) (selected []pathBuild, err error) {
	text := os.Getenv("KPROF_CALL_PATHS")
	if text == "" {
		return builds[:1], nil
	}
	wanted, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	for _, b := range builds {
		if wanted.MatchString(b.name) {
			selected = append(selected, b)
		}
	}
	return selected, nil
}

// prebuildPaths builds the selected programs for guests into a directory, by the compilers that
// are named as gcc is. Those whose compiler is missing are left out.
func prebuildPaths(dir, gcc string) error {
	arch, rust := "amd64", "x86_64-unknown-linux-gnu"
	prefix := strings.TrimSuffix(gcc, "gcc")
	if strings.HasPrefix(prefix, "aarch64-") {
		arch, rust = "arm64", "aarch64-unknown-linux-gnu"
	}
	builds, err := selectedPaths(guestPathBuilds[arch])
	if err != nil {
		return err
	}
	for _, b := range builds {
		words := strings.Fields(b.command)
		switch words[0] {
		case "gcc", "g++":
			words[0] = prefix + words[0]
			words = append(words, "-fomit-frame-pointer")
		case "clang", "clang++":
			words = append(words, "--target="+strings.TrimSuffix(prefix, "-"), "-fomit-frame-pointer")
		case "rustc":
			if !slices.Contains(words, "--target") {
				words = append(words, "--target", rust)
			}
			words = append(words, "-C", "linker="+gcc)
			target := words[slices.Index(words, "--target")+1]
			libs, _ := exec.Command(words[0], "--print", "target-libdir", "--target", target).Output()
			if _, err := os.Stat(strings.TrimSpace(string(libs))); err != nil {
				fmt.Fprintf(os.Stderr, "%s: no Rust for %s\n", b.name, target)
				continue
			}
		}
		if _, err := exec.LookPath(words[0]); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", b.name, err)
			continue
		}
		cmd := exec.Command(words[0], append(words[1:], "-o", filepath.Join(dir, b.program()), filepath.Join("testdata/callpaths", b.source))...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", cmd, err, out)
		}
	}
	return nil
}

// program is the name of the file that prebuildPaths builds.
func (b *pathBuild) program() string { return "paths-" + strings.ReplaceAll(b.name, " ", "-") }

// guestPaths is TestLiveCallPaths in a guest. Its perf.data is as large as an emulated machine
// can convert.
func guestPaths(t *testing.T) {
	builds, err := selectedPaths(guestPathBuilds[runtime.GOARCH])
	if err != nil {
		t.Fatal(err)
	}
	millis, least := "3000", 99.0
	if os.Getenv("KPROF_CALL_PATHS") == "" { // some hundred samples, of which a few more may be wrong
		millis, least = "1500", 97
	}
	for _, b := range builds {
		t.Run(b.name, func(t *testing.T) {
			dir := t.TempDir()
			prog := filepath.Join(dir, "paths")
			err := copyProgram(filepath.Join(os.Getenv("KPROF_PREBUILT"), b.program()), prog)
			if errors.Is(err, fs.ErrNotExist) {
				t.Skip("its compiler was not there")
			}
			if err != nil {
				t.Fatal(err)
			}
			checkPaths(t, b.name+": "+b.command, prog, "199", millis, least)
		})
	}
}
