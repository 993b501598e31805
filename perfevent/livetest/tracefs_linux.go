package livetest

import (
	"fmt"

	"kprof/perfevent/tracefs"
)

// Tracefs: mounted, or mountable.
func Tracefs() string {
	if _, err := tracefs.Find(tracefs.Options{Mount: true}); err != nil {
		return fmt.Sprintf("tracefs (%v)", err)
	}
	return ""
}
