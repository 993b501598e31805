// Package lazyregexp compiles regular expressions when they are first used: a program that
// has many, and uses few in a run, starts sooner.
package lazyregexp

import (
	"regexp"
	"sync"
)

// New returns a function that returns a regular expression, compiled at its first call. It
// panics then if it cannot be, as [regexp.MustCompile] does. Any goroutine may call it.
func New(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
