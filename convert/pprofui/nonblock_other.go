//go:build !unix

package pprofui

const nonblock = 0 // no pipes lie among the files
