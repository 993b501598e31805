package livetest

import (
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// goTools are the programs of GoTool by name.
var goTools sync.Map

// GoTool finds a tool of the Go distribution, such as pprof, or skips t. It is built if
// need be. To run the program itself takes less than "go tool", which looks each time
// whether it is up to date.
func GoTool(t testing.TB, name string) string {
	t.Helper()
	RequirePrograms(t, "go")
	if path, ok := goTools.Load(name); ok {
		return path.(string)
	}
	out, err := exec.Command("go", "tool", "-n", name).Output()
	path := strings.TrimSpace(string(out))
	if err != nil || path == "" {
		t.Fatalf("go tool -n %s: %q, %v", name, out, err)
	}
	goTools.Store(name, path)
	return path
}
