// Package pprof reads any pprof file into a stacks.Set and streams a Set out as
// one.
//
// Reading is google/pprof's work, and so is judging what is written. Writing is
// done here, straight from the Set as Go's runtime/pprof does it: a
// profile.Profile of a diverse recording costs more to build than the recording
// costs to read.
package pprof
