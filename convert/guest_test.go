package convert_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"kprof/convert"
	"kprof/convert/stacks"
	"kprof/perfevent/procfs"
)

// TestReadGuestModules: modules are mappings from their addresses on; those whose addresses were
// hidden are none.
func TestReadGuestModules(t *testing.T) {
	const net = "virtio_net 16384 0 - Live 0xffffffffc0000000\n"
	want := []stacks.Mapping{{File: "[virtio_net]", Start: 0xffffffffc0000000, Limit: 0xffffffffc0004000}}
	var format *procfs.FormatError
	for name, c := range map[string]struct {
		text string
		want []stacks.Mapping
		err  func(error) bool
	}{
		"one":             {net, want, func(err error) bool { return err == nil }},
		"one hidden":      {"fuse 176128 1 - Live 0x0000000000000000\n" + net, want, func(err error) bool { return err == nil }},
		"a bad line":      {"what\n" + net, want, func(err error) bool { return errors.As(err, &format) && format.Offset == 0 }},
		"all hidden":      {"fuse 176128 1 - Live 0x0000000000000000\n", nil, func(err error) bool { return errors.Is(err, convert.ErrNoModules) }},
		"nothing":         {"", nil, func(err error) bool { return errors.Is(err, convert.ErrNoModules) }},
		"a bad line only": {"what\n", nil, func(err error) bool { return errors.As(err, &format) }},
	} {
		got, err := convert.ReadGuestModules(strings.NewReader(c.text))
		if !c.err(err) || !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
