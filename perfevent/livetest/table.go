package livetest

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Table checks what f makes of each key: it is to be its value.
func Table[In comparable, Out any](t testing.TB, f func(In) Out, want map[In]Out) {
	t.Helper()
	for in, want := range want {
		got := f(in)
		if reflect.DeepEqual(got, want) {
			continue
		}
		if text, ok := any(want).(string); ok && strings.Contains(text, "\n") {
			t.Errorf("%#v: -want +got\n%s", in, cmp.Diff(want, got))
		} else {
			t.Errorf("%#v: got %#v, want %#v", in, got, want)
		}
	}
}

// Errors checks that f fails with each key, and that the error says its value.
func Errors[Out any](t testing.TB, f func(string) (Out, error), want map[string]string) {
	t.Helper()
	for in, want := range want {
		if got, err := f(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100q: got %v, %v; want an error with %q", in, got, err, want)
		}
	}
}

// Failing is a test that may fail: it keeps what it is told of.
type Failing struct {
	testing.TB
	Said []string
}

func (f *Failing) Helper() {}

func (f *Failing) Errorf(format string, args ...any) {
	f.Said = append(f.Said, fmt.Sprintf(format, args...))
}
