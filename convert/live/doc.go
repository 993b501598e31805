// Package live makes a profile with names of what runs, without a recording in a file.
//
// Record does it in one step. What it is put together from serves those who watch the session too: a
// Collector is the sink of a record/capture that becomes the profile. A Listing is the sink that lists
// single events instead, and Times the one that tells of the times between them.
package live
