// Package errkind makes errors that are of a kind for errors.Is, such as
// os.ErrNotExist, without saying so in their text.
//
// The text of os.ErrNotExist is "file does not exist": behind "no tracepoint
// sched:swich" it says the same a second time, and something else.
package errkind

import "fmt"

type kindError struct {
	error
	kind error
}

// Errorf is fmt.Errorf, of that kind too. What the format wraps stays in the
// chain.
func Errorf(kind error, format string, args ...any) error {
	return kindError{fmt.Errorf(format, args...), kind}
}

func (e kindError) Unwrap() []error { return []error{e.error, e.kind} }
