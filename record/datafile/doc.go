// Package datafile writes what a session records as perf.data, with what naming it
// elsewhere takes: the machine, the formats of its events, the symbols of its kernel, the
// build ids of what was mapped.
//
//	Header   reads what is known before the recording
//	Create   makes a File, the record.Sink of a capture
//	Finish   adds what is known after it
package datafile
