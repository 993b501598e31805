//go:build linux

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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = "../.."

// imports lists, for each package of the module but cmd/kprof, which others it
// may import. A new package needs a line.
var imports = map[string][]string{
	"convert":                            {"convert/bootlog", "convert/folded", "convert/infile", "convert/naming", "convert/packed", "convert/pagefile", "convert/payload", "convert/pprof", "convert/printable", "convert/replay", "convert/sniff", "convert/span", "convert/stacks", "convert/stacktext", "convert/trace", "convert/trace/ringdir", "convert/transform", "perfevent/abi", "perfevent/format/expr", "perfevent/perfdata", "perfevent/procfs", "perfevent/spanrule", "symbolize", "symbolize/unwind"},
	"convert/annotate":                   {"convert/printable", "convert/stacks", "perfevent/spelling", "symbolize", "symbolize/disasm", "symbolize/elfsym"},
	"convert/bootlog":                    {"convert/kernellog", "convert/printable", "convert/stacks", "perfevent/lazyregexp", "perfevent/textlimit"},
	"convert/browse":                     {"convert/calltree", "convert/printable", "convert/stacks", "convert/table", "convert/transform"},
	"convert/browsertest":                {"perfevent/livetest"},
	"convert/calltree":                   {"convert/intern", "convert/stacks"},
	"convert/compare":                    {"convert", "convert/bootlog", "convert/diff", "convert/diffreport", "convert/spandiff", "convert/stacks", "perfevent/abi", "perfevent/perfdata", "symbolize", "symbolize/disasm", "symbolize/elfsym", "symbolize/kallsyms", "symbolize/regular"},
	"convert/diff":                       {"convert/stacks"},
	"convert/diff/difftest":              {},
	"convert/diffreport":                 {"convert/diff", "convert/page", "convert/printable", "convert/spandiff"},
	"convert/export":                     {"convert", "convert/flamegraph", "convert/folded", "convert/page", "convert/pprof", "convert/replay", "convert/stacks", "convert/table", "convert/viewer"},
	"convert/flamegraph":                 {"convert/calltree", "convert/printable", "convert/stacks"},
	"convert/folded":                     {"convert/intern", "convert/packed", "convert/stacks"},
	"convert/gate":                       {},
	"convert/infile":                     {},
	"convert/intern":                     {},
	"convert/kernellog":                  {"perfevent/lazyregexp"},
	"convert/listing":                    {"convert", "convert/locate", "convert/naming", "convert/payload", "convert/printable", "convert/replay", "convert/samples", "convert/stacks", "convert/timeline", "convert/timeorder", "perfevent/abi", "perfevent/datasrc", "perfevent/format", "perfevent/format/expr", "perfevent/format/printfmt", "perfevent/perfdata", "perfevent/procfs", "perfevent/spelling", "symbolize"},
	"convert/listing/listingtest":        {"convert", "convert/listing", "perfevent/abi", "perfevent/format", "perfevent/livetest", "perfevent/perfdata"},
	"convert/live":                       {"convert", "convert/listing", "convert/naming", "convert/payload", "convert/replay", "convert/stacks", "perfevent/abi", "perfevent/perfdata", "record", "record/capture", "record/symbols", "symbolize"},
	"convert/locate":                     {"convert/intern", "convert/samples", "convert/stacks", "convert/timeline", "perfevent/abi", "perfevent/perfdata", "symbolize/unwind"},
	"convert/naming":                     {"convert/stacks", "perfevent/perfdata", "symbolize"},
	"convert/outfile":                    {},
	"convert/packed":                     {},
	"convert/page":                       {"convert/calltree", "convert/intern", "convert/stacks"},
	"convert/pagefile":                   {"convert/calltree", "convert/stacks"},
	"convert/payload":                    {"perfevent/abi", "perfevent/datasrc", "perfevent/format", "perfevent/format/expr", "perfevent/format/printfmt", "perfevent/perfdata"},
	"convert/pprof":                      {"convert/intern", "convert/packed", "convert/stacks"},
	"convert/pprofui":                    {"convert/pprof", "convert/stacks", "perfevent/lazyregexp"},
	"convert/printable":                  {},
	"convert/registers":                  {"convert/listing", "convert/printable", "convert/samples", "convert/span", "convert/stacks", "perfevent/format", "perfevent/textlimit"},
	"convert/replay":                     {"convert/locate", "convert/payload", "convert/samples", "convert/span", "convert/stacks", "convert/timeline", "convert/timeorder", "perfevent/abi", "perfevent/cgroup", "perfevent/datasrc", "perfevent/format", "perfevent/format/expr", "perfevent/format/printfmt", "perfevent/perfdata", "perfevent/procfs", "perfevent/spanrule", "perfevent/spelling", "perfevent/syscalls", "symbolize", "symbolize/unwind"},
	"convert/samples":                    {"convert/stacks", "convert/timeline", "convert/timeorder", "perfevent/abi", "perfevent/perfdata"},
	"convert/sniff":                      {"convert/kernellog", "convert/stacktext", "perfevent/lazyregexp"},
	"convert/span":                       {},
	"convert/spandiff":                   {"convert/diff", "convert/span", "convert/stacks"},
	"convert/stacks":                     {"convert/intern", "perfevent/abi", "perfevent/lazyregexp", "symbolize/mapping"},
	"convert/stacks/stackstest":          {"convert/stacks", "perfevent/livetest"},
	"convert/stacktext":                  {"convert/intern", "convert/stacks", "perfevent/abi"},
	"convert/store":                      {"convert/infile", "convert/pprof", "convert/stacks"},
	"convert/store/storetest":            {},
	"convert/table":                      {"convert/calltree", "convert/printable", "convert/span", "convert/stacks"},
	"convert/timeline":                   {"convert/intern", "convert/stacks", "perfevent/abi", "symbolize/ranges"},
	"convert/timeorder":                  {},
	"convert/trace":                      {"convert/kernellog", "convert/span", "convert/trace/ftracetext", "convert/trace/ringdir", "convert/trace/tracedat", "perfevent/abi", "perfevent/format", "perfevent/perfdata", "perfevent/procfs", "perfevent/ringpage", "perfevent/textlimit"},
	"convert/trace/ftracetext":           {"perfevent/format", "perfevent/lazyregexp"},
	"convert/trace/ringdir":              {"perfevent/abi", "perfevent/lazyregexp", "perfevent/perfdata", "perfevent/ringpage"},
	"convert/trace/tracedat":             {"perfevent/abi", "perfevent/perfdata", "perfevent/ringpage"},
	"convert/transform":                  {"convert/calltree", "convert/stacks"},
	"convert/viewer":                     {"convert/calltree", "convert/intern", "convert/stacks"},
	"perfevent":                          {"perfevent/abi", "perfevent/internal/errkind"},
	"perfevent/abi":                      {},
	"perfevent/cgroup":                   {},
	"perfevent/count":                    {"perfevent", "perfevent/abi", "perfevent/count/report", "perfevent/event", "perfevent/procfs"},
	"perfevent/count/report":             {"perfevent/abi"},
	"perfevent/datasrc":                  {},
	"perfevent/event":                    {"perfevent", "perfevent/abi", "perfevent/internal/errkind", "perfevent/lazyregexp", "perfevent/procfs", "perfevent/spanrule", "perfevent/spelling", "perfevent/syscalls", "perfevent/tracefs", "perfevent/x86"},
	"perfevent/format":                   {"perfevent/abi"},
	"perfevent/format/expr":              {"perfevent/abi", "perfevent/datasrc", "perfevent/format", "perfevent/format/internal/operator", "perfevent/spelling"},
	"perfevent/format/internal/operator": {},
	"perfevent/format/printfmt":          {"perfevent/abi", "perfevent/format", "perfevent/format/internal/operator"},
	"perfevent/fuzztest":                 {},
	"perfevent/internal/errkind":         {},
	"perfevent/lazyregexp":               {},
	"perfevent/livetest":                 {"perfevent/tracefs"},
	"perfevent/memtest":                  {},
	"perfevent/perfdata":                 {"perfevent/abi", "perfevent/format"},
	"perfevent/perfdata/perftext":        {"perfevent/abi", "perfevent/livetest", "perfevent/perfdata"},
	"perfevent/procfs":                   {"perfevent/textlimit"},
	"perfevent/procfs/procfstest":        {},
	"perfevent/ringpage":                 {"perfevent/abi", "perfevent/format"},
	"perfevent/spanrule":                 {"perfevent/format/expr", "perfevent/spelling", "perfevent/syscalls"},
	"perfevent/spelling":                 {},
	"perfevent/syscalls":                 {},
	"perfevent/textlimit":                {},
	"perfevent/tracecmd":                 {"perfevent/abi"},
	"perfevent/tracefs":                  {"perfevent/internal/errkind", "perfevent/spelling"},
	"perfevent/tracetest":                {"perfevent/abi", "perfevent/tracecmd"},
	"perfevent/x86":                      {},
	"record/bench":                       {"perfevent/procfs", "record"},
	"record":                             {"perfevent", "perfevent/abi", "perfevent/event", "perfevent/format", "perfevent/lazyregexp", "perfevent/perfdata", "perfevent/procfs", "perfevent/tracefs", "record/synth"},
	"record/capture":                     {"perfevent", "perfevent/abi", "record", "record/symbols", "record/synth"},
	"record/control":                     {},
	"record/datafile":                    {"perfevent/abi", "perfevent/perfdata", "perfevent/procfs", "record", "record/symbols"},
	"record/marker":                      {"perfevent", "perfevent/abi", "perfevent/format", "perfevent/ringpage", "perfevent/tracefs"},
	"record/doctor":                      {"perfevent", "perfevent/abi", "perfevent/event", "perfevent/procfs", "perfevent/tracefs", "record", "symbolize/kallsyms"},
	"record/parts":                       {"perfevent/abi"},
	"record/symbols":                     {"perfevent/abi", "perfevent/perfdata", "perfevent/procfs", "record/synth", "symbolize/kallsyms", "symbolize/process", "symbolize/regular"},
	"record/tracer":                      {"perfevent", "perfevent/abi", "perfevent/ringpage", "perfevent/spelling", "perfevent/tracecmd", "perfevent/tracefs"},
	"record/synth":                       {"perfevent", "perfevent/abi", "perfevent/procfs", "symbolize/regular"},
	"symbolize":                          {"perfevent/procfs", "symbolize/elfsym", "symbolize/internal/srcline", "symbolize/kallsyms", "symbolize/mapping", "symbolize/process", "symbolize/ranges", "symbolize/regular", "symbolize/unwind"},
	"symbolize/elfsym":                   {"perfevent/procfs", "symbolize/internal/srcline", "symbolize/ranges", "symbolize/regular", "symbolize/unwind"},
	"symbolize/disasm":                   {"perfevent/lazyregexp", "perfevent/x86", "symbolize/elfsym", "symbolize/regular"},
	"symbolize/framepointer":             {"symbolize/elfsym", "symbolize/regular"},
	"symbolize/ranges":                   {},
	"symbolize/internal/srcline":         {"symbolize/ranges"},
	"symbolize/kallsyms":                 {"perfevent/procfs", "symbolize/ranges"},
	"symbolize/mapping":                  {},
	"symbolize/process":                  {"symbolize/regular"},
	"symbolize/regular":                  {},
	"symbolize/unwind":                   {},
}

// testOnly packages are for tests: nothing else imports them, and the rules on
// what a library may do are not for them.
var testOnly = []string{"perfevent/procfs/procfstest", "perfevent/fuzztest", "perfevent/livetest", "perfevent/memtest", "perfevent/perfdata/perftext", "perfevent/tracetest", "convert/browsertest", "convert/diff/difftest", "convert/listing/listingtest", "convert/stacks/stackstest", "convert/store/storetest"}

// withoutKernel packages work on any operating system: neither they nor what
// they import calls the kernel beside package os.
var withoutKernel = []string{
	"convert/bootlog",
	"convert/calltree",
	"convert/diff",
	"convert/diffreport",
	"convert/flamegraph",
	"convert/folded",
	"convert/intern",
	"convert/kernellog",
	"convert/page",
	"convert/payload",
	"convert/printable",
	"convert/samples",
	"convert/sniff",
	"convert/span",
	"convert/spandiff",
	"convert/stacks",
	"convert/stacktext",
	"convert/table",
	"convert/timeline",
	"convert/timeorder",
	"convert/trace",
	"convert/trace/ftracetext",
	"convert/trace/ringdir",
	"convert/trace/tracedat",
	"convert/transform",
	"convert/viewer",
	"perfevent/abi",
	"perfevent/format",
	"perfevent/format/expr",
	"perfevent/format/printfmt",
	"perfevent/cgroup",
	"perfevent/count/report",
	"perfevent/lazyregexp",
	"perfevent/perfdata",
	"perfevent/procfs",
	"perfevent/ringpage",
	"perfevent/spanrule",
	"perfevent/syscalls",
	"perfevent/textlimit",
	"perfevent/tracecmd",
	"perfevent/x86",
	"record/control",
	"record/parts",
	"symbolize/mapping",
}

// uses lists what only some packages or files may do, and which.
var uses = map[string][]string{
	"import unsafe":  {"perfevent"},
	"import os/exec": {"record/launch_linux.go", "record/witness_linux.go", "record/tracer/guard_linux.go", "convert/gate/browser.go", "convert/pprofui/handler.go"}, // looks for dot
	// The shim is a process of its own: it takes over the standard files and
	// the environment, and ends by itself. So do the witness, and the guard of the tracer.
	"os.Exit":       {"record/launch_linux.go", "record/witness_linux.go", "record/tracer/guard_linux.go"},
	"os.Environ":    {"record/launch_linux.go"},
	"os.Stdin":      {"record/launch_linux.go", "record/tracer/guard_linux.go"},
	"os.Stdout":     {"record/launch_linux.go", "record/tracer/guard_linux.go"},
	"os.Stderr":     {"record/launch_linux.go"},
	"os.Getenv":     {},
	"os.LookupEnv":  {},
	"os.ExpandEnv":  {},
	"import log":    {"convert/gate/server.go"}, // for http.Server
	"fmt.Print":     {},
	"fmt.Printf":    {},
	"fmt.Println":   {},
	"builtin print": {},
}

// namesFlag is what text has that tells which flag to give.
var namesFlag = regexp.MustCompile(`(^|[ (])--[a-z]|\(-[a-zA-Z]`)

// flagTexts are parts of the texts of libraries that may name flags: those of other
// programs.
var flagTexts = []string{
	"docker run --cap-add", "docker run --pid=host", "--security-opt seccomp=unconfined", "perf record -z --switch-output",
}

// topLevel is all that may lie at the top of the repository.
var topLevel = strings.Fields(`cmd perfevent record convert symbolize testdata go.mod go.sum
	Makefile README.md ARCHITECTURE.md LICENSE .ci .gitignore .gitattributes`)

type goPackage struct {
	ImportPath, Doc string
	Imports, Deps   []string
	GoFiles         []string
	Module          struct{ Path string }
}

func (p goPackage) name() string { return strings.TrimPrefix(p.ImportPath, p.Module.Path+"/") }

// TestArchitectureDocument: ARCHITECTURE.md names every package, and no file that is
// not there.
func TestArchitectureDocument(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, p := range listPackages(t) {
		if name := p.name(); !strings.Contains(name, "internal/") && !strings.Contains(text, "`"+name+"`") && !strings.Contains(text, "`"+name[strings.Index(name, "/")+1:]+"`") {
			t.Errorf("ARCHITECTURE.md does not name %s", name)
		}
	}
	var files []string
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".build" {
			return filepath.SkipDir
		}
		files = append(files, filepath.ToSlash(path))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("`([\\w/]+\\.(?:go|sh))`").FindAllStringSubmatch(text, -1) {
		if !slices.ContainsFunc(files, func(f string) bool { return strings.HasSuffix(f, "/"+m[1]) }) {
			t.Errorf("ARCHITECTURE.md names %s, which is not there", m[1])
		}
	}
}

// listPackages returns the packages of the module, as built for Linux.
func listPackages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Doc,Imports,Deps,GoFiles,Module", "./...")
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
			if name, ours := strings.CutPrefix(imp, p.Module.Path+"/"); ours && !slices.Contains(allowed, name) {
				t.Errorf("%s must not import %s", p.name(), name)
			}
		}
		if slices.Contains(testOnly, p.name()) {
			continue
		}
		for _, dep := range p.Deps {
			if name, ours := strings.CutPrefix(dep, p.Module.Path+"/"); ours && slices.Contains(testOnly, name) {
				t.Errorf("%s imports %s, which is for tests", p.name(), name)
			}
			if dep == "golang.org/x/sys/unix" && slices.Contains(withoutKernel, p.name()) {
				t.Errorf("%s must not need %s", p.name(), dep)
			}
			if strings.HasPrefix(dep, "github.com/google/pprof/driver") && p.name() != "convert/pprofui" {
				t.Errorf("%s must not need pprof's user interface", p.name())
			}
		}
		for _, file := range p.GoFiles {
			for _, text := range textsWithFlags(t, filepath.Join(root, p.name(), file)) {
				if !slices.ContainsFunc(flagTexts, func(may string) bool { return strings.Contains(text, may) }) {
					t.Errorf("%s/%s: %s names a flag, which only the command has: return a typed reason, that it puts into words", p.name(), file, text)
				}
			}
			for _, use := range usesOf(t, filepath.Join(root, p.name(), file)) {
				if may := uses[use]; !slices.Contains(may, p.name()) && !slices.Contains(may, p.name()+"/"+file) {
					t.Errorf("%s/%s: %s is not for this package", p.name(), file, use)
				}
			}
		}
	}
}

// textsWithFlags returns the string literals of a file that name flags.
func textsWithFlags(t *testing.T, name string) (texts []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING && namesFlag.MatchString(strings.Trim(l.Value, "`\"")) {
			texts = append(texts, l.Value)
		}
		return true
	})
	return texts
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
