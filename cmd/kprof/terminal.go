package main

import (
	"io"
	"os"

	"kprof/convert/printable"
)

// textOutput is where text is written that has no colours: standard output, or any
// other file.
func textOutput(f *os.File) io.Writer {
	if isTerminal(f) {
		return printable.NewWriter(f)
	}
	return f
}
