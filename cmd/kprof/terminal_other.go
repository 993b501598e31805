//go:build !linux || portable

package main

import "os"

// isTerminal takes a device for a terminal, but not the one that everything vanishes in.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
