package livetest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// failures is a test that keeps what it is told of.
type failures struct {
	testing.TB
	said []string
}

func (f *failures) Helper() {}

func (f *failures) Errorf(format string, args ...any) {
	f.said = append(f.said, fmt.Sprintf(format, args...))
}

// TestTables: what is not as the table has it is told, with what it was made of, and nothing else.
func TestTables(t *testing.T) {
	f := &failures{TB: t}
	livetest.Table(f, strings.ToUpper, map[string]string{"a": "A", "b": "b"})
	livetest.Table(f, strings.Fields, map[string][]string{"a b": {"a", "b"}, "": {}})
	livetest.Errors(f, func(s string) error {
		if s == "" {
			return nil
		}
		return errors.New("no " + s)
	}, map[string]string{"a": "no", "b": "has", "": ""})
	if len(f.said) != 3 || f.said[0] != `"b": got "B", want "b"` {
		t.Errorf("%q", f.said)
	}
}
