// Package printfmt evaluates the print fmt of event formats: the text that the kernel itself prints for an event.
//
// A print fmt is a call of printf as the kernel's sources have it: a format
// string and arguments, which are expressions of C over the fields (REC->name)
// and the helpers of include/trace/stages (__print_flags and so on). Compile reads
// it once per event, a Printer appends the text of one record after another.
//
// Numbers are C's: of the width and sign of their types, promoted and converted
// as C does. Pointers are printed as perf script prints them, not hashed as the
// kernel's own text has them: the recording has their values.
//
// What only the kernel knows cannot be evaluated: its functions, its variables,
// memory behind pointers. Such an argument is printed as "?" and the fields that it
// would have used follow the text as name=value; when the whole cannot be read, all
// fields are printed so. Printer.Problem says why.
package printfmt
