package tracer

import (
	"errors"
	"fmt"
	"strings"
)

// Options say what to trace. Either Graph or Functions is wanted.
type Options struct {
	// Graph are functions, or globs of them, whose calls are recorded with all that they
	// call, to Depth; of depth 1, the functions alone.
	Graph []string
	// Functions are functions, or globs of them, whose calls are recorded with the stacks
	// of their callers.
	Functions []string
	Depth     int // 0 for all that is called

	// Tasks are the threads to trace, with what they start; nil for all but this process.
	Tasks []int
	// Processes are those of which Tasks has all threads: others that they have by the time at
	// which they are traced are traced too.
	Processes []int
	CPUs      []int // nil for all

	Everything bool // permits all functions of the kernel
	OnCPU      bool // calls do not count the time that their task does not run
	BufferSize int  // bytes of the ring of each CPU; 0 for DefaultBufferSize
}

// Tracer is the kernel's name for the tracer that is wanted.
func (o *Options) tracer() string {
	if len(o.Graph) > 0 {
		return "function_graph"
	}
	return "function"
}

func (o *Options) functions() []string {
	if len(o.Graph) > 0 {
		return o.Graph
	}
	return o.Functions
}

// shared reports whether settings that all tracers of the kernel share are wanted.
func (o *Options) shared() bool { return len(o.Graph) > 0 && o.Depth != 1 }

// ErrEverything says that functions were not chosen among those of the kernel.
var ErrEverything = errors.New("it would trace every function of the kernel")

// Prefixes of the events that are functions to trace.
const (
	GraphPrefix    = "graph:"
	FunctionPrefix = "function:"
)

// IsEvent reports whether an event is functions to trace.
func IsEvent(event string) bool {
	return strings.HasPrefix(event, GraphPrefix) || strings.HasPrefix(event, FunctionPrefix)
}

// AddEvent adds the functions of an event, "graph:FUNC,…" or "function:GLOB,…".
func (o *Options) AddEvent(event string) error {
	prefix, list, _ := strings.Cut(event, ":")
	to := &o.Graph
	if prefix+":" == FunctionPrefix {
		to = &o.Functions
	}
	for f := range strings.SplitSeq(list, ",") {
		f = strings.TrimSpace(f)
		if f == "" || strings.ContainsAny(f, ": \t\n!;|") {
			return fmt.Errorf("event %q: %q is no function of the kernel", event, f)
		}
		*to = append(*to, f)
	}
	if len(o.Graph) > 0 && len(o.Functions) > 0 {
		return fmt.Errorf("event %q: one tracer is recorded at a time, that of graph: or that of function: events", event)
	}
	return nil
}
