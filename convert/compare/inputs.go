package compare

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// benchList is what kprof bench writes beside runs: record/bench.ListName.
const benchList = "bench.json"

// Inputs returns the files that an argument names: the profiles in a directory, those
// that a pattern with *, ? or [ matches, or the file itself; or the address of a store, as
// it is. Hidden files, those that end in .old and a list of runs are left out of directories. Other files
// than regular ones are not looked for in directories and by patterns, whose order is that
// of their names, numbers in them by their value.
func Inputs(arg string) ([]string, error) {
	if strings.HasPrefix(arg, "http://") || strings.HasPrefix(arg, "https://") {
		return []string{arg}, nil
	}
	st, err := os.Stat(arg)
	var found []string
	switch {
	case err == nil && st.IsDir():
		entries, err := os.ReadDir(arg)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !strings.HasPrefix(e.Name(), ".") && !strings.HasSuffix(e.Name(), ".old") && e.Name() != benchList {
				found = append(found, filepath.Join(arg, e.Name()))
			}
		}
	case err != nil && strings.ContainsAny(arg, "*?["):
		if found, err = filepath.Glob(arg); err != nil {
			return nil, fmt.Errorf("%s: %w", arg, err)
		}
	default:
		return []string{arg}, nil
	}
	found = slices.DeleteFunc(found, func(name string) bool {
		st, err := os.Stat(name)
		return err != nil || !st.Mode().IsRegular()
	})
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: no files in it", arg)
	}
	slices.SortFunc(found, byNumbers)
	return found, nil
}

// byNumbers compares names, numbers in them by their value: run-9 comes before run-10.
func byNumbers(a, b string) int {
	for a != "" && b != "" {
		x, y := digits(a), digits(b)
		if x > 0 && y > 0 {
			m, n := strings.TrimLeft(a[:x], "0"), strings.TrimLeft(b[:y], "0")
			if len(m) != len(n) {
				return len(m) - len(n)
			}
			if c := strings.Compare(m, n); c != 0 {
				return c
			}
			a, b = a[x:], b[y:]
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

func digits(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}
