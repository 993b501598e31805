package convert

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"kprof/convert/stacks"
)

// Origin makes a label that says where a profile comes from.
type Origin struct {
	Key string

	constant string
	pattern  *regexp.Regexp // whose first group is the value, nil for a constant
}

// ParseOrigin reads KEY=VALUE or KEY=PATTERN: a pattern is a regular expression with a
// group in parentheses, which is the value as it stands in an input's name.
func ParseOrigin(s string) (Origin, error) {
	key, value, ok := strings.Cut(s, "=")
	if key = strings.TrimSpace(key); !ok || key == "" || value == "" {
		return Origin{}, fmt.Errorf("%q is not KEY=VALUE or KEY=PATTERN", s)
	}
	o := Origin{Key: key, constant: value}
	if !strings.Contains(value, "(") {
		return o, nil
	}
	var err error
	if o.pattern, err = regexp.Compile(value); err != nil {
		return Origin{}, err
	}
	if o.pattern.NumSubexp() == 0 {
		return Origin{}, fmt.Errorf("%q has no group in parentheses, which would be the value", value)
	}
	return o, nil
}

// Label returns the label of an input by its name, a path with slashes.
func (o *Origin) Label(name string) (stacks.Label, error) {
	l := stacks.Label{Key: o.Key, Str: o.constant}
	if o.pattern == nil {
		return l, nil
	}
	m := o.pattern.FindStringSubmatch(filepath.ToSlash(name))
	if m == nil || m[1] == "" {
		return l, fmt.Errorf("%s: its name has no %s: it does not match %q", name, o.Key, o.pattern)
	}
	l.Str = m[1]
	return l, nil
}
