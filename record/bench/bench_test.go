package bench

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

func TestOps(t *testing.T) {
	for _, test := range []struct {
		output, pattern string
		want            float64
	}{
		{"12 requests\n300 requests\n", "([0-9]+) requests", 300},
		{"done: 1.5e6\n", "[0-9.]+e[0-9]+", 1.5e6},
		{"nothing", "([0-9]+) requests", 0},
		{"0 requests", "([0-9]+) requests", 0},
		{"x requests", "(.) requests", 0},
		{"99 requests", "(a)?99 requests", 0},
	} {
		n, err := Ops([]byte(test.output), regexp.MustCompile(test.pattern))
		if n != test.want || (err != nil) != (test.want == 0) || err != nil && !errors.Is(err, ErrNoOps) {
			t.Errorf("%q by %q: %v, %v", test.output, test.pattern, n, err)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	dir := t.TempDir()
	if _, err := Read(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no list: %v", err)
	}
	for text, want := range map[string]string{
		"":                    "unexpected end",
		`{"schema": "other"}`: "no list of runs",
		`{"schema": "` + strings.Repeat("x", maxList) + `"}`: "no list of runs",
	} {
		livetest.WriteFile(t, filepath.Join(dir, ListName), text)
		if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), ListName) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"schema": "kprof.bench", "runs": [{"file": "1.data", "ops": 3, "noise": [{"kind": "stolen", "amount": 0.5}]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := parse(b)
		if err != nil {
			return
		}
		for _, r := range l.Runs {
			for _, n := range r.Noise {
				_ = n.String()
			}
		}
	})
}
