package symbolize

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// process is what is known of a process that lives.
type process struct {
	innerPID int    // its number in its own pid namespace
	uid      uint32 // its effective user
}

// readProcess reads /proc/PID/status.
func readProcess(pid int) (process, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return process{}, err
	}
	defer f.Close()
	status, err := io.ReadAll(io.LimitReader(f, 1<<16))
	if err != nil {
		return process{}, err
	}
	p := process{innerPID: pid}
	uid := false
	for line := range strings.Lines(string(status)) {
		key, value, _ := strings.Cut(line, ":")
		fields := strings.Fields(value)
		switch {
		case key == "NSpid" && len(fields) > 0:
			// One number for each namespace, the innermost last.
			if n, err := strconv.Atoi(fields[len(fields)-1]); err == nil {
				p.innerPID = n
			}
		case key == "Uid" && len(fields) > 1:
			// Real, effective, saved, file system.
			if n, err := strconv.ParseUint(fields[1], 10, 32); err == nil {
				p.uid, uid = uint32(n), true
			}
		}
	}
	if !uid {
		return process{}, fmt.Errorf("/proc/%d/status: no Uid", pid)
	}
	return p, nil
}
