// Package samples gives each sample of a recording the state that its task had.
//
// A record passes through these stages, each of which knows only the one before:
//
//	perfdata.Reader, rings    records, in the order of the file or of the rings
//	   │
//	   ▼
//	Scan, Stream              order: all side-band records, or those of one round more,
//	   │                      come before a sample that they may concern
//	   ▼
//	timeline.Timeline         state of its process
//	   │
//	   ▼
//	Sample                    its fields, its state, and what it counts
//
// What samples become is the business of whoever takes them: replay makes rows of a
// profile of them.
//
// A recording that can be read twice is walked twice (Scan, File.Each): the first walk
// reads the headers of all records and collects the side-band, a small part of all; then
// the Timeline is complete, and the second walk takes the samples in the order of the
// file. What arrives only once, live or through a pipe, is held back for a round (Stream).
package samples
