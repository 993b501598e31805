// Package live makes a profile with names of what runs, without a recording in a file.
//
// Record does it in one step. What it is put together from serves those who watch the
// session too: Describe tells a session what runs already, and a Collector is the sink
// that becomes the profile. A Listing is the sink that lists single events instead.
package live
