package livetest

import (
	"reflect"
	"strings"
	"testing"
)

// Table checks what f makes of each key: it is to be its value.
func Table[In comparable, Out any](t testing.TB, f func(In) Out, want map[In]Out) {
	t.Helper()
	for in, want := range want {
		if got := f(in); !reflect.DeepEqual(got, want) {
			t.Errorf("%#v: got %#v, want %#v", in, got, want)
		}
	}
}

// Errors checks that f fails with each key, and that the error says its value.
func Errors(t testing.TB, f func(string) error, want map[string]string) {
	t.Helper()
	for in, want := range want {
		if err := f(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100q: %v; want %q in it", in, err, want)
		}
	}
}
