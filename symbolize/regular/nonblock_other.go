//go:build !unix

package regular

const nonblock = 0 // no FIFOs lie among the files
