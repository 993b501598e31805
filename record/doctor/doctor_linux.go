package doctor

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Finding is the answer to one question about this machine.
type Finding struct {
	Group  string `json:"group"`            // what the question is about: "events", "limits"
	What   string `json:"what"`             // which question: "perf_event_paranoid", "kprobe PMU"
	OK     bool   `json:"ok"`               // it is there, or large enough
	Detail string `json:"detail"`           // what is so
	Remedy string `json:"remedy,omitempty"` // how to get the rest; "" where OK, or where there is none
}

// Examine answers all questions, those of one group together.
func Examine() []Finding {
	var uts unix.Utsname
	_ = unix.Uname(&uts)
	release := unix.ByteSliceToString(uts.Release[:])
	var all []Finding
	add := func(group string, fs ...Finding) {
		for _, f := range fs {
			f.Group = group
			if f.OK {
				f.Remedy = ""
			}
			all = append(all, f)
		}
	}
	add(fmt.Sprintf("permissions of uid %d", os.Geteuid()), permissions()...)
	add("events", events()...)
	add("tracing", tracing()...)
	add("names", names()...)
	add("limits", limits()...)
	add(fmt.Sprintf("kernel %s %s", release, unix.ByteSliceToString(uts.Machine[:])), kernel(release)...)
	return all
}

// readable is whether a file can be opened.
func readable(what, path, remedy string) Finding {
	f, err := os.Open(path)
	if err != nil {
		return Finding{What: what, Detail: err.Error(), Remedy: remedy}
	}
	f.Close()
	return Finding{What: what, OK: true, Detail: path}
}
