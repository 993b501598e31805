//go:build linux

package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// TestLicenses compares the topic licenses with the license files of all packages
// that are linked into kprof, on any system that it is built for. With -update it
// is written anew.
func TestLicenses(t *testing.T) {
	files := map[string][]string{} // texts, and the modules that they are of
	add := func(module, file string) {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(strings.TrimSpace(string(b)), "\r", "")
		if !slices.Contains(files[text], module) {
			files[text] = append(files[text], module)
		}
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	add("Go's standard library", filepath.Join(strings.TrimSpace(string(goroot)), "LICENSE"))
	add("kprof", filepath.Join(root, "LICENSE"))
	licensed := map[string]bool{}
	for _, goos := range []string{"linux", "darwin", "windows"} {
		list := exec.Command("go", "list", "-deps", "-e", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}", ".")
		list.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			f := strings.Split(strings.TrimSpace(line), "\t")
			if len(f) != 3 {
				continue
			}
			module, top := f[0], f[1]
			licensed[module] = licensed[module] || false
			for dir := f[2]; strings.HasPrefix(dir, top); dir = filepath.Dir(dir) {
				for _, glob := range []string{"LICEN[SC]E*", "COPYING*", "NOTICE*"} {
					found, _ := filepath.Glob(filepath.Join(dir, glob))
					for _, file := range found {
						if st, err := os.Stat(file); err == nil && st.Mode().IsRegular() {
							add(module, file)
							licensed[module] = true
						}
					}
				}
			}
		}
	}
	for module, ok := range licensed {
		if !ok {
			t.Errorf("%s has no license file", module)
		}
	}
	var sections []string
	for _, text := range slices.Collect(maps.Keys(files)) {
		slices.Sort(files[text])
		sections = append(sections, fmt.Sprintf("## %s\n\n%s\n", strings.Join(files[text], ", "), text))
	}
	slices.Sort(sections)
	want := "# Licenses of what is linked into kprof\n\n" + strings.Join(sections, "\n")
	const topic = "help/licenses.md"
	if *update {
		livetest.WriteFile(t, topic, want)
		return
	}
	got, err := os.ReadFile(topic)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what is linked: go test ./cmd/kprof -run TestLicenses -update", topic)
	}
}
