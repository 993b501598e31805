// Package expr parses and evaluates expressions over the fields of events and what every sample has.
//
// The operators are C's: ?: || && | ^ & == != < <= > >= << >> + - * / % and the
// unary - ~ !, with C's precedence; and two of comparison:
//
//	comm ~ "kworker/*"          a glob, as the kernel's event filters have it: * ? [a-z] [!0-9]
//	prev_state in {1, 2, 0x80}  any of these numbers, or strings
//
// Both have the precedence of ==; "!~" is the contrary of "~".
//
// Names are the event's fields, common_* included; field[2] is an element of an
// array. comm, pid, tid, cpu, time and event are the sample's own. Where the event
// has a field of such a name, field.comm or EVENT.comm is the field: sched_wakeup
// has a comm and a pid of the task that it wakes. EVENT.x is x of that event alone,
// and missing in others. event is the name as "sched:sched_switch"; compared with a
// string that has no colon, it is the part after the colon. Modifiers may be left out:
// cycles:u is called "cycles" too.
//
// Numbers are decimal, 0x hexadecimal or 0 octal; decimal ones may have a fraction
// where a suffix makes the whole an integer: 1.5ms. The suffixes K M G T are powers of 1024,
// as in sizes everywhere in kprof; ns us ms s give nanoseconds, which time is in
// and the kernel's fields of durations mostly are. Strings are in double or single
// quotes; one of a single character is also its number, for fields of type char.
//
// Arithmetic has 64 bits. A result has a sign if one of the operands has, or if it
// is a difference; what is written in the expression takes the sign of what it meets, and so do
// masks: ptr & ~0xfff and ptr & -4096 have the sign of ptr, and ptr == ~0 compares bits.
// Comparisons are those of the numbers otherwise: -1 is less than any unsigned number, which in
// C it is not. Text compares with text only. In place of a truth value a number is
// true unless it is 0.
//
// An event without the field, a record too short for it, a division by zero: such a
// part has no value, and neither has what is computed from it, but that "||" and "&&"
// have one when the other side decides. An expression without a value does not
// match, and Program says so.
package expr
