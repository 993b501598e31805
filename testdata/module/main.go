// Module gives the module in the current directory another path: in go.mod, in the
// imports of all its Go files, of tests and other platforms too, and wherever else a
// text of the repository names one of its packages by a whole path, as a program for
// others to copy does.
//
//	module PATH
package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: module PATH, as in: module example.org/you/kprof")
		os.Exit(2)
	}
	n, err := rename(".", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "module:", err)
		os.Exit(1)
	}
	fmt.Printf("the module is %s: %d files changed\n", os.Args[1], n)
}

// rename returns how many files it changed. Nothing is written before all of them
// have been read and can be.
func rename(root, path string) (int, error) {
	if path == "" { // go mod edit leaves it as it is
		return 0, errors.New("no path is given: make module PATH=example.org/you/kprof")
	}
	old, err := goCommand(root, "list", "-m")
	if err != nil {
		return 0, err
	}
	mod, err := goCommand(root, "mod", "edit", "-print", "-module="+path)
	if err != nil {
		return 0, err
	}
	files, err := list(root)
	if err != nil {
		return 0, err
	}
	names := mentions(strings.TrimSpace(string(old)), packages(files))
	changed := map[string][]byte{filepath.Join(root, "go.mod"): mod}
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return 0, err
		}
		if name == "go.mod" || !utf8.Valid(text) {
			continue
		}
		renamed := text
		for range 2 { // of two with one character between them, the second does not match at first
			renamed = names.ReplaceAll(renamed, []byte("${1}"+path+"${2}"))
		}
		if bytes.Equal(renamed, text) {
			continue
		}
		if filepath.Ext(name) == ".go" { // imports of other modules may sort in between
			if renamed, err = format.Source(renamed); err != nil {
				return 0, fmt.Errorf("%s: %w", name, err)
			}
		}
		changed[filepath.Join(root, name)] = renamed
	}
	for name, text := range changed {
		if err := os.WriteFile(name, text, 0o666); err != nil { // which keeps the mode
			return 0, err
		}
	}
	return len(changed), nil
}

// goCommand returns what the go command prints.
func goCommand(root string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w: %s", args[0], err, bytes.TrimSpace(said.Bytes()))
	}
	return out, nil
}

// list returns the regular files of the repository, also those that are not added
// yet; without git, all but those in hidden folders.
func list(root string) ([]string, error) {
	git := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	git.Dir = root
	if out, err := git.Output(); err == nil && len(out) > 0 {
		names := strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
		return slices.DeleteFunc(names, func(name string) bool {
			info, err := os.Lstat(filepath.Join(root, name))
			return err != nil || !info.Mode().IsRegular()
		}), nil
	}
	var names []string
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() && name != "." && name[0] == '.' {
			return fs.SkipDir
		}
		if err == nil && e.Type().IsRegular() {
			names = append(names, name)
		}
		return err
	})
	if err == nil && len(names) == 0 {
		err = errors.New("no files")
	}
	return names, err
}

// packages returns the folders that hold Go files, the longest names first.
func packages(files []string) []string {
	var dirs []string
	for _, name := range files {
		if dir := filepath.Dir(name); filepath.Ext(name) == ".go" && dir != "." {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	dirs = slices.Compact(dirs)
	slices.Reverse(dirs)
	return dirs
}

// mentions matches a module's path where it stands for the module: before one of its
// packages, or in a replace or require of another's go.mod. Neither follows on a
// longer path or word: "cmd/kprof/record" is no package of "kprof".
func mentions(path string, dirs []string) *regexp.Regexp {
	quoted := make([]string, len(dirs))
	for i, dir := range dirs {
		quoted[i] = regexp.QuoteMeta(dir)
	}
	return regexp.MustCompile(`(?m)(^|[^\w./-])` + regexp.QuoteMeta(path) +
		`(/(?:\.\.\.|` + strings.Join(quoted, "|") + `)(?:[^\w/-]|$)|(?: v\S+)? => | v0\.0\.0|=\.|@v0\.0\.0)`)
}
