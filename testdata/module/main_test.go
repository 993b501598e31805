package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMakeModule gives a copy of the repository another path, twice: all of it, its tests
// included, finds what it imports, and needs nothing of its old paths.
func TestMakeModule(t *testing.T) {
	if testing.Short() {
		t.Skip("copies everything")
	}
	const root = "../.."
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("needs make")
	}
	files, err := list(root)
	if err != nil {
		t.Fatal(err)
	}
	// Always in the same folder, so that what is compiled is kept for the next time.
	dir, err := filepath.Abs(root + "/.build/module")
	if err != nil {
		t.Fatal(err)
	}
	empty := func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	}
	empty()
	t.Cleanup(empty)
	for _, name := range files {
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	run("make", "module", "PATH=kprof.example/of.others")
	run("make", "module", "PATH=example.org/you/kprof")
	if got := strings.TrimSpace(run("go", "list", "-m")); got != "example.org/you/kprof" {
		t.Errorf("the module is %q", got)
	}
	// What changes is what packages import, and go list finds all of that, or fails.
	run("go", "build", "./perfevent/abi", "./convert/stacks")
	for path := range strings.FieldsSeq(run("go", "list", "-deps", "-test", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", "./...")) {
		if strings.HasPrefix(path, "kprof/") || strings.HasPrefix(path, "kprof.example/") {
			t.Errorf("it needs %s", path)
		}
	}
	for _, bad := range []string{"", "/abs", "two words", "a/../x"} {
		cmd := exec.Command("make", "module", "PATH="+bad)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err == nil {
			t.Errorf("PATH=%s: %s", bad, out)
		}
	}
}

// TestMentions replaces a path where it stands for the module, and nowhere else. This
// module is another, so that the test is not replaced itself.
func TestMentions(t *testing.T) {
	re := mentions("house", packages([]string{"go.mod", "cmd/house/main.go", "record/a.go", "record/synth/b.go", "x.go"}))
	for text, want := range map[string]string{
		`import "house/record"`:                           `import "NEW/record"`,
		"import r \"house/record/synth\"\n":               "import r \"NEW/record/synth\"\n",
		"go list house/... house/cmd/house house/record":  "go list NEW/... NEW/cmd/house NEW/record",
		"replace house => ../house":                       "replace NEW => ../house",
		"require house v0.0.0\nreplace house v0.0.0 => x": "require NEW v0.0.0\nreplace NEW v0.0.0 => x",
		"go mod edit -replace=house=../house":             "go mod edit -replace=NEW=../house",
		"house/record.Start":                              "NEW/record.Start",
		".build/house cmd/house/record house/recorder":    "",
		"p:house/write_null house records => x":           "",
		"doc/house/record house.record house-record":      "",
		"see house/records, house/record-x":               "",
	} {
		if want == "" {
			want = text
		}
		got := text
		for range 2 {
			got = re.ReplaceAllString(got, "${1}NEW${2}")
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
