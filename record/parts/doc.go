// Package parts divides what a session records into parts, each of which is whole in
// itself: it begins with the names and maps of all processes that there are.
//
//	rings ─► Divider ─┬─► Part, Part, …     as it comes, for a time or a size
//	                  └─► window ─► Part    what was recorded last, when it is asked for
//
// A State is what the side-band of all that went before amounts to.
package parts
