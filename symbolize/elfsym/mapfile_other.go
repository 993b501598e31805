//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly) || portable

package elfsym

import "os"

// mapFile maps nothing: sections are read, each as a whole and within maxTable.
func mapFile(*os.File, int) []byte { return nil }

func unmapFile([]byte) {}
