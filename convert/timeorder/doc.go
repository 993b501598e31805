// Package timeorder puts records into the order of their times, in bounded memory.
//
// Records of a ring are in order, those of several rings come in rounds: in each, every
// ring is drained once. What was written before the end of one round has arrived by the
// end of the next, so that the latest time of a round bounds what can be passed on after
// the next (perf's tools/perf/util/ordered-events.c has a drawing):
//
//	CPU 0  1 2 . | 3 4 5 | 8 . .
//	CPU 1  2 3 4 | 5 6 7 | 9 9 .
//	             |       |
//	latest       4       7
//	passed on    -      ≤ 4     ≤ 7 …
//
// What must wait longer than memory allows, since no round ends or one is too large, is
// sorted piece by piece into a temporary file, whose pieces are merged, and which grows with what
// waits:
//
//	Add ──► memory ──► sorted by time ──► emit, up to the latest time of the round before
//	           │ full                       ▲
//	           └──► run of a temporary file ┘
package timeorder
