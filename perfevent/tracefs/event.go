package tracefs

// Event names a tracepoint.
type Event struct {
	System string // "sched"
	Name   string // "sched_switch"
}

func (e Event) String() string { return e.System + ":" + e.Name }
