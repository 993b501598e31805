// Platforms checks packages as go vet does, for platforms other than this one, from their
// sources.
//
//	platforms GOOS/GOARCH PACKAGE...
//
// Go vet compiles whatever the packages import, the standard library too, for each
// platform: a minute and more of a CPU, where this takes ten seconds. Types are checked,
// with those of the tests, and all that go vet looks for but what it concludes from other
// packages' functions (whether they format as fmt.Printf does, or do not return), which
// differs between platforms the least. What is found is printed, and the exit code is 1.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/passes/appends"
	"golang.org/x/tools/go/analysis/passes/asmdecl"
	"golang.org/x/tools/go/analysis/passes/assign"
	"golang.org/x/tools/go/analysis/passes/atomic"
	"golang.org/x/tools/go/analysis/passes/bools"
	"golang.org/x/tools/go/analysis/passes/buildtag"
	"golang.org/x/tools/go/analysis/passes/composite"
	"golang.org/x/tools/go/analysis/passes/copylock"
	"golang.org/x/tools/go/analysis/passes/defers"
	"golang.org/x/tools/go/analysis/passes/directive"
	"golang.org/x/tools/go/analysis/passes/errorsas"
	"golang.org/x/tools/go/analysis/passes/framepointer"
	"golang.org/x/tools/go/analysis/passes/hostport"
	"golang.org/x/tools/go/analysis/passes/httpresponse"
	"golang.org/x/tools/go/analysis/passes/ifaceassert"
	"golang.org/x/tools/go/analysis/passes/loopclosure"
	"golang.org/x/tools/go/analysis/passes/nilfunc"
	"golang.org/x/tools/go/analysis/passes/shift"
	"golang.org/x/tools/go/analysis/passes/sigchanyzer"
	"golang.org/x/tools/go/analysis/passes/slog"
	"golang.org/x/tools/go/analysis/passes/stdmethods"
	"golang.org/x/tools/go/analysis/passes/stdversion"
	"golang.org/x/tools/go/analysis/passes/stringintconv"
	"golang.org/x/tools/go/analysis/passes/structtag"
	"golang.org/x/tools/go/analysis/passes/testinggoroutine"
	"golang.org/x/tools/go/analysis/passes/tests"
	"golang.org/x/tools/go/analysis/passes/timeformat"
	"golang.org/x/tools/go/analysis/passes/unmarshal"
	"golang.org/x/tools/go/analysis/passes/unreachable"
	"golang.org/x/tools/go/analysis/passes/unsafeptr"
	"golang.org/x/tools/go/analysis/passes/unusedresult"
	"golang.org/x/tools/go/analysis/passes/waitgroup"
	"golang.org/x/tools/go/packages"
)

// analyzers are those of go vet that look at one package at a time.
var analyzers = []*analysis.Analyzer{
	appends.Analyzer, asmdecl.Analyzer, assign.Analyzer, atomic.Analyzer, bools.Analyzer,
	buildtag.Analyzer, composite.Analyzer, copylock.Analyzer, defers.Analyzer,
	directive.Analyzer, errorsas.Analyzer, framepointer.Analyzer, hostport.Analyzer,
	httpresponse.Analyzer, ifaceassert.Analyzer, loopclosure.Analyzer, nilfunc.Analyzer,
	shift.Analyzer, sigchanyzer.Analyzer, slog.Analyzer, stdmethods.Analyzer,
	stdversion.Analyzer, stringintconv.Analyzer, structtag.Analyzer,
	testinggoroutine.Analyzer, tests.Analyzer, timeformat.Analyzer, unmarshal.Analyzer,
	unreachable.Analyzer, unsafeptr.Analyzer, unusedresult.Analyzer, waitgroup.Analyzer,
}

func main() {
	flag.Parse()
	if flag.NArg() < 2 {
		fmt.Fprintln(os.Stderr, "usage: platforms GOOS/GOARCH PACKAGE...")
		os.Exit(2)
	}
	n, err := check(os.Stdout, ".", flag.Arg(0), flag.Args()[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "platforms:", err)
		os.Exit(2)
	}
	if n > 0 {
		os.Exit(1)
	}
}

// check prints what is wrong with packages of the module in dir on a platform, and counts
// it.
func check(w io.Writer, dir, platform string, patterns []string) (found int, err error) {
	goos, goarch, ok := strings.Cut(platform, "/")
	if !ok {
		return 0, fmt.Errorf("%q is not GOOS/GOARCH", platform)
	}
	pkgs, err := packages.Load(&packages.Config{
		Dir: dir,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedModule |
			packages.NeedTypes | packages.NeedTypesSizes | packages.NeedTypesInfo | packages.NeedSyntax,
		Env:   append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch),
		Tests: true, ParseFile: parserFor(dir),
	}, patterns...)
	if err != nil {
		return 0, err
	}
	if len(pkgs) == 0 {
		return 0, fmt.Errorf("no packages in %s", strings.Join(patterns, " "))
	}
	var lines []string
	packages.Visit(pkgs, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			lines = append(lines, e.Error())
		}
	})
	if len(lines) == 0 {
		graph, err := checker.Analyze(analyzers, pkgs, nil)
		if err != nil {
			return 0, err
		}
		for _, a := range graph.Roots {
			if a.Err != nil {
				return 0, fmt.Errorf("%s of %s: %w", a.Analyzer.Name, a.Package, a.Err)
			}
			for _, d := range a.Diagnostics {
				lines = append(lines, fmt.Sprintf("%s: %s (%s)", a.Package.Fset.Position(d.Pos), d.Message, a.Analyzer.Name))
			}
		}
	}
	// A file is in a package and in the one that its tests make of it.
	slices.Sort(lines)
	lines = slices.Compact(lines)
	for _, line := range lines {
		fmt.Fprintln(w, line)
	}
	return len(lines), nil
}
