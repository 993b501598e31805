package table

import (
	"strings"
	"testing"

	"kprof/convert/stacks"
)

func TestWriteDelays(t *testing.T) {
	s := stacks.New()
	sh := s.InternLabels([]stacks.Label{{Key: "comm", Str: "s\x1bh"}})
	all := []Delays{{Task: 7, Labels: sh, Count: 4, Sum: 8e6, Max: 5e6, Since: 12_000_001_500}, {Task: 8, Labels: sh, Count: 1, Sum: 1000, Max: 1000, Since: 5}, {Task: -1, Count: 1, Sum: 9, Max: 9}}
	var b strings.Builder
	if err := WriteDelays(&b, s, all, 2); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if f := strings.Fields(lines[1]); len(lines) != 5 || strings.Join(f[:6], " ") != "4 8ms 2ms 5ms 12.000001 12.005001" || !strings.HasSuffix(f[6], "h:7") || strings.Contains(b.String(), "\x1b") || lines[3] != "… and 1 more" {
		t.Errorf("%q", lines)
	}
	if err := WriteDelays(&b, s, nil, 0); err != ErrNoDelays {
		t.Error(err)
	}
}
