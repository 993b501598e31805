// Package spanrule says what the rules of spans mean: which events begin and end a span,
// and by what the two belong together.
//
//	span:syscalls:read,write            a rule by its name (table.go)
//	span:vfs_read  span:MODULE:FUNC     calls of a function, from entry to return
//	span:uprobe:PATH:SYMBOL             of a function of a program
//	span:A..B by pid..next_pid          from event A to event B, which have these in common
//
// A Rule knows no machine and no recording: package event makes events of it, and
// convert/replay finds its events in a recording.
package spanrule
