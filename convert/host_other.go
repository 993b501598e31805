//go:build !linux || portable

package convert

import (
	"os"
	"time"

	"kprof/perfevent/perfdata"
)

// recordedHere reports whether a recording was made by this kernel: only Linux
// records.
func recordedHere(*perfdata.Features, time.Time) bool { return false }

// spoolLimit is how much a file that is unpacked into f may take.
func spoolLimit(*os.File) (int64, error) { return 16 << 30, nil }
