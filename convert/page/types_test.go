package page

import (
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// TestTypes: TypeScript finds no error in the page's scripts, whose types are in their comments.
func TestTypes(t *testing.T) {
	if testing.Short() {
		return // the scripts are the same everywhere
	}
	needChecker(t, "typescript", "typescript/package.json")
	livetest.RequirePrograms(t, "node")
	compiler, err := filepath.Abs(checkers + "typescript/lib/tsc.js")
	if err != nil {
		t.Fatal(err)
	}
	// The scripts are one, as in a page, so that all know what the others declare.
	var all strings.Builder
	var from []int // the line before the first of each script
	lines := 0
	for _, name := range htmlScripts {
		from = append(from, lines)
		text := htmlFile(name + ".js")
		lines += strings.Count(text, "\n")
		all.WriteString(text)
	}
	all.WriteString("export {};\n") // what they declare is not the browser's
	dir := t.TempDir()
	livetest.WriteFile(t, filepath.Join(dir, "page.js"), all.String())
	cmd := exec.Command("node", compiler, "--noEmit", "--allowJs", "--checkJs", "--skipLibCheck", "--target", "esnext", "--module", "esnext", "--lib", "esnext,dom,dom.iterable", "page.js")
	cmd.Dir = dir
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		at := regexp.MustCompile(`^page\.js\((\d+),\d+\): `).FindStringSubmatch(line)
		if at == nil {
			t.Error(line)
			continue
		}
		n, _ := strconv.Atoi(at[1])
		i := len(from) - 1
		for i > 0 && from[i] >= n {
			i--
		}
		t.Errorf("html/%s.js:%d: %s", htmlScripts[i], n-from[i], strings.TrimPrefix(line, at[0]))
	}
	if err != nil && len(out) == 0 {
		t.Errorf("%v: %s", err, err.(*exec.ExitError).Stderr)
	}
}
