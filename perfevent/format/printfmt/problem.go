package printfmt

import "fmt"

// Reason is why a print fmt, or an argument of it, cannot be evaluated.
type Reason uint8

const (
	Missing    Reason = iota + 1 // the format has no print fmt
	Syntax                       // it is not the C that is understood here
	Limit                        // it is too long, too deep, or has too many parts
	Arguments                    // fewer arguments than its format string takes
	Statements                   // a statement expression: ({ ... })
	Function                     // it calls a function of the kernel
	Identifier                   // a variable of the kernel, or a constant whose value is not in the format
	NoField                      // a field that the format does not have
	Memory                       // what a pointer points to, or a structure of the kernel
)

var reasons = [...]string{
	Missing:    "no print fmt",
	Syntax:     "not understood",
	Limit:      "too large",
	Arguments:  "too few arguments",
	Statements: "statements",
	Function:   "a function of the kernel",
	Identifier: "a name whose value only the kernel knows",
	NoField:    "a field that the event does not have",
	Memory:     "memory that is not recorded",
}

func (r Reason) String() string {
	if int(r) < len(reasons) && r > 0 {
		return reasons[r]
	}
	return fmt.Sprintf("Reason(%d)", uint8(r))
}

// Problem is the first thing of a print fmt that cannot be evaluated.
type Problem struct {
	Event  string
	Reason Reason
	Text   string // where: the name, or what stands there
	Offset int    // in the print fmt, bytes

	// Whole says that all of the event is printed as name=value. Otherwise it is
	// only the fields of the arguments that cannot be evaluated, or some names
	// of flags and symbols that are printed as numbers.
	Whole bool
}

func (p *Problem) Error() string {
	s := fmt.Sprintf("print fmt of %s: %s", p.Event, p.Reason)
	if p.Text != "" {
		s += fmt.Sprintf(", %q at offset %d", p.Text, p.Offset)
	}
	return s
}
