package convert

import (
	"bytes"
	"fmt"

	"kprof/convert/pagefile"
	"kprof/convert/sniff"
)

// UnreadableError reports an input that is known for what it is, and holds no profile
// that can be read.
type UnreadableError struct {
	Kind sniff.Kind
	Line string // the first, of text that is not known
}

func (e *UnreadableError) Error() string {
	switch e.Kind {
	case sniff.Empty:
		return "it is empty"
	case sniff.OtherText:
		return fmt.Sprintf("it is text, but neither folded stacks (\"outer;inner 12\") nor what perf script, bpftrace, DTrace or the kernel's tracer print, nor a log of the kernel: it begins with %.60q", e.Line)
	}
	return fmt.Sprintf("it is %s, which is not read", e.Kind.Unread())
}

// unreadable returns what to tell of an input that is not read, nil if it is, or may be.
func (c *content) unreadable() error {
	switch {
	case c.kind == sniff.OtherText:
		line := bytes.TrimLeft(c.head, " \t\r\n")
		line, _, _ = bytes.Cut(line, []byte("\n"))
		return &UnreadableError{Kind: c.kind, Line: string(line)}
	case c.kind == sniff.KernelLog: // it is, if it has initcalls
	case c.kind == sniff.HTML && pagefile.Is(c.head):
	case c.kind.Unread() != "", c.kind == sniff.Empty:
		return &UnreadableError{Kind: c.kind}
	}
	return nil
}
