package main

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = "../.."

// imports lists, for each package of the module but cmd/kprof, which others it
// may import. A new package needs a line.
var imports = map[string][]string{
	"convert":                     {"convert/stacks", "perfevent/abi", "perfevent/perfdata", "symbolize", "symbolize/unwind"},
	"convert/diff":                {"convert/stacks"},
	"convert/pprof":               {"convert/stacks"},
	"convert/render":              {"convert/diff", "convert/stacks"},
	"convert/render/browsertest":  {"perfevent/livetest"},
	"convert/stacks":              {},
	"perfevent":                   {"perfevent/abi", "perfevent/tracefs"},
	"perfevent/abi":               {},
	"perfevent/livetest":          {"perfevent/tracefs"},
	"perfevent/perfdata":          {"perfevent/abi"},
	"perfevent/perfdata/perftext": {"perfevent/abi", "perfevent/perfdata"},
	"perfevent/tracefs":           {},
	"record":                      {"perfevent", "perfevent/abi", "perfevent/tracefs"},
	"symbolize":                   {"symbolize/elfsym", "symbolize/kallsyms", "symbolize/internal/regular", "symbolize/internal/span", "symbolize/internal/srcline", "symbolize/unwind"},
	"symbolize/elfsym":            {"symbolize/internal/regular", "symbolize/internal/span", "symbolize/internal/srcline", "symbolize/unwind"},
	"symbolize/internal/regular":  {},
	"symbolize/internal/span":     {},
	"symbolize/internal/srcline":  {"symbolize/internal/span"},
	"symbolize/kallsyms":          {"symbolize/internal/span"},
	"symbolize/unwind":            {},
}

// testOnly packages are for tests: nothing else imports them, and the rules on
// what a library may do are not for them.
var testOnly = []string{"perfevent/livetest", "perfevent/perfdata/perftext", "convert/render/browsertest"}

// withoutKernel packages work on any operating system: neither they nor what
// they import calls the kernel beside package os.
var withoutKernel = []string{"perfevent/abi", "perfevent/perfdata", "convert/stacks"}

// uses lists what only some packages or files may do, and which.
var uses = map[string][]string{
	"import unsafe":  {"perfevent"},
	"import os/exec": {"record/launch_linux.go"},
	// The shim is a process of its own: it takes over the standard files and
	// the environment, and ends by itself.
	"os.Exit":       {"record/launch_linux.go"},
	"os.Environ":    {"record/launch_linux.go"},
	"os.Stdin":      {"record/launch_linux.go"},
	"os.Stdout":     {"record/launch_linux.go"},
	"os.Stderr":     {"record/launch_linux.go"},
	"os.Getenv":     {},
	"os.LookupEnv":  {},
	"os.ExpandEnv":  {},
	"import log":    {},
	"fmt.Print":     {},
	"fmt.Printf":    {},
	"fmt.Println":   {},
	"builtin print": {},
}

// topLevel is all that may lie at the top of the repository.
var topLevel = strings.Fields(`cmd perfevent record convert symbolize testdata go.mod go.sum
	Makefile README.md ARCHITECTURE.md LICENSE .ci .gitignore .gitattributes`)

type goPackage struct {
	ImportPath, Doc string
	Imports, Deps   []string
	GoFiles         []string
}

func (p goPackage) name() string { return strings.TrimPrefix(p.ImportPath, "kprof/") }

// listPackages returns the packages of the module, as built for Linux.
func listPackages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Doc,Imports,Deps,GoFiles", "./...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		errors.As(err, &exit)
		t.Fatalf("go list: %v\n%s", err, exit.Stderr)
	}
	var pkgs []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
	return pkgs
}

// TestArchitecture holds the packages to the rules that ARCHITECTURE.md states:
// imports run one way, and libraries leave the process to the command.
func TestArchitecture(t *testing.T) {
	for _, p := range listPackages(t) {
		if !strings.HasPrefix(p.Doc, "Package "+filepath.Base(p.name())+" ") && p.name() != "cmd/kprof" || p.Doc == "" {
			t.Errorf("%s: no package comment, but %q", p.name(), p.Doc)
		}
		if strings.HasPrefix(p.name(), "cmd/") {
			continue
		}
		allowed, listed := imports[p.name()]
		if !listed {
			t.Errorf("%s: a new package: say in this test what it may import", p.name())
		}
		for _, imp := range p.Imports {
			if name, ours := strings.CutPrefix(imp, "kprof/"); ours && !slices.Contains(allowed, name) {
				t.Errorf("%s must not import %s", p.name(), name)
			}
		}
		if slices.Contains(testOnly, p.name()) {
			continue
		}
		for _, dep := range p.Deps {
			if name, ours := strings.CutPrefix(dep, "kprof/"); ours && slices.Contains(testOnly, name) {
				t.Errorf("%s imports %s, which is for tests", p.name(), name)
			}
			if dep == "golang.org/x/sys/unix" && slices.Contains(withoutKernel, p.name()) {
				t.Errorf("%s must not need %s", p.name(), dep)
			}
			if strings.HasPrefix(dep, "github.com/google/pprof/driver") {
				t.Errorf("%s must not need pprof's user interface", p.name())
			}
		}
		for _, file := range p.GoFiles {
			for _, use := range usesOf(t, filepath.Join(root, p.name(), file)) {
				if may := uses[use]; !slices.Contains(may, p.name()) && !slices.Contains(may, p.name()+"/"+file) {
					t.Errorf("%s/%s: %s is not for this package", p.name(), file, use)
				}
			}
		}
	}
}

// usesOf returns which of the uses a file has.
func usesOf(t *testing.T, name string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	note := func(use string) {
		if _, listed := uses[use]; listed {
			found[use] = true
		}
	}
	for _, imp := range f.Imports {
		path, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if imp.Name != nil && (path == "os" || path == "fmt") {
			t.Errorf("%s: %s under another name hides what is used of it", name, path)
		}
		note("import " + strings.TrimSuffix(path, "/slog"))
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok {
				note(pkg.Name + "." + n.Sel.Name)
			}
		case *ast.CallExpr:
			if fn, ok := n.Fun.(*ast.Ident); ok && (fn.Name == "print" || fn.Name == "println") {
				note("builtin print")
			}
		}
		return true
	})
	return slices.Sorted(maps.Keys(found))
}

// TestTopLevel keeps the top of the repository as it is laid out. What is not
// in the repository but ignored by it may lie there too.
func TestTopLevel(t *testing.T) {
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	ignored, err := os.ReadFile(filepath.Join(root, ".gitignore"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if slices.Contains(topLevel, e.Name()) || e.Name() == ".git" || isIgnored(string(ignored), e) {
			continue
		}
		t.Errorf("%s does not belong at the top level", e.Name())
	}
}

// isIgnored knows the patterns that .gitignore has: "/NAME", "/NAME/", globs.
func isIgnored(patterns string, e fs.DirEntry) bool {
	for line := range strings.Lines(patterns) {
		p, rooted := strings.CutPrefix(strings.TrimSpace(line), "/")
		if ok, _ := filepath.Match(strings.TrimSuffix(p, "/"), e.Name()); ok && rooted {
			return true
		}
	}
	return false
}
