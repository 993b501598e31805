// Package format reads the fields of events as the format text of tracefs describes them.
//
// A format is the text of tracefs' events/SYSTEM/NAME/format, which recordings
// carry (perfdata.Tracepoint, the tracing data of a trace.dat file). Parse turns
// it into fields. A field reads its value from the payload of a record: the raw
// data of a perf sample or an entry of a ring buffer page, from the common fields
// on. Fields are found by name, since offsets differ between kernels, and once
// per event: reading allocates nothing and never reads past the payload.
//
// Package printfmt evaluates the format's print fmt, package expr expressions
// over fields.
package format
