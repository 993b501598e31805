// Package pprof reads any pprof file into a stacks.Set and streams a Set out as
// one.
//
// Both are done here: straight into the Set, and straight from it as Go's runtime/pprof
// does it. A profile.Profile costs more to build than most profiles cost to read.
// google/pprof reads the legacy formats, but for the names in the text of Go's, says what is
// wrong with a file, and judges what is written.
package pprof
