//go:build !unix

package infile

import "os"

func openPipe(name string) (*os.File, error) { return os.Open(name) }
