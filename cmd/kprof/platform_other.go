//go:build !unix

package main

import "os"

// terminalSize is not known.
func terminalSize(*os.File) (columns, rows int) { return 0, 0 }

func signalName(sig os.Signal) string { return sig.String() }

// endBy ends this process, as a signal that nothing catches would.
func endBy(os.Signal) { os.Exit(exitFailed) }
