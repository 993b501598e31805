package main

import (
	"io"
	"os"

	"kprof/convert/printable"
)

// wantsColors reports whether text on a terminal may have colours: unless NO_COLOR is set
// (no-color.org), or the terminal is one that has none, such as those within editors.
func wantsColors() bool { return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" }

// textOutput is where text is written that has no colours: standard output, or any
// other file.
func textOutput(f *os.File) io.Writer {
	if isTerminal(f) {
		return printable.NewWriter(f)
	}
	return f
}
