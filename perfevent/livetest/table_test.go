package livetest_test

import (
	"errors"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// TestTables: what is not as the table has it is told, with what it was made of, and nothing else.
func TestTables(t *testing.T) {
	f := &livetest.Failing{TB: t}
	livetest.Table(f, strings.ToUpper, map[string]string{"a": "A", "b": "b"})
	livetest.Table(f, strings.Fields, map[string][]string{"a b": {"a", "b"}, "": {}})
	livetest.Table(f, strings.ToUpper, map[string]string{"lines\n": "lines\n"})
	livetest.Errors(f, func(s string) (int, error) {
		if s == "" {
			return 7, nil
		}
		return 0, errors.New("no " + s)
	}, map[string]string{"a": "no", "b": "has", "": ""})
	if len(f.Said) != 4 || f.Said[0] != `"b": got "B", want "b"` || !strings.HasPrefix(f.Said[1], `"lines\n": -want +got`) {
		t.Errorf("%q", f.Said)
	}
}
