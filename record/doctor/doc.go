// Package doctor finds out what this machine lets a process record.
//
//	Examine  answers every question: permissions, kinds of events, what the tracer
//	         can do, where names come from, limits, and what the kernel was built with
//	Remedy   is the command, for root, that makes work what was refused
//
// It tries what can be tried without side effects, by opening it and closing it again;
// only the rest is read from settings.
package doctor
