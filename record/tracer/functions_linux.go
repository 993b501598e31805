package tracer

import (
	"bufio"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"kprof/perfevent/spelling"
	"kprof/perfevent/tracefs"
)

// most is how many functions of a pattern are nearly all: more than this share.
const most = 0.9

// checkFunctions looks functions up in those that the kernel can trace.
func checkFunctions(fs *tracefs.FS, patterns []string, everything bool) error {
	f, err := os.Open(filepath.Join(fs.Path(), "available_filter_functions"))
	if err != nil {
		return err
	}
	defer f.Close()
	counts := make([]int, len(patterns))
	var names []string
	for s := bufio.NewScanner(f); s.Scan(); {
		name, _, _ := strings.Cut(s.Text(), " ")
		names = append(names, name)
		for i, p := range patterns {
			if p == name {
				counts[i]++
			} else if ok, err := path.Match(p, name); err != nil {
				return fmt.Errorf("%q is not a pattern: %w", p, err)
			} else if ok {
				counts[i]++
			}
		}
	}
	sum := 0
	for i, p := range patterns {
		if counts[i] == 0 {
			return fmt.Errorf("the kernel has no function %q that it can trace%s", p, spelling.Question(spelling.Closest(p, names)))
		}
		sum += counts[i]
	}
	if !everything && float64(sum) > most*float64(len(names)) {
		return fmt.Errorf("%d of %d functions: %w", sum, len(names), ErrEverything)
	}
	return nil
}
