// Package process looks at the processes of this machine that a recording was of:
// whose they are, and what files they have.
package process

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// Process is one that lives. It is held by its directory in /proc: when its number is
// used again, that is not another one's.
type Process struct {
	InnerPID int    // its number in its own pid namespace
	UID      uint32 // its effective user

	dir *os.File
}

// Open holds a process and reads /proc/PID/status.
func Open(pid int) (*Process, error) {
	dir, err := os.Open(fmt.Sprintf("/proc/%d", pid))
	if err != nil {
		return nil, err
	}
	p := &Process{dir: dir, InnerPID: pid}
	if err := p.readStatus(); err != nil {
		p.Close()
		return nil, fmt.Errorf("/proc/%d/status: %w", pid, err)
	}
	return p, nil
}

// Path returns the path of something in its directory.
func (p *Process) Path(name string) string {
	return fmt.Sprintf("/proc/self/fd/%d/%s", p.dir.Fd(), name)
}

// Close lets the process go. A second Close does nothing.
func (p *Process) Close() { p.dir.Close() }

func (p *Process) readStatus() error {
	f, err := os.Open(p.Path("status"))
	if err != nil {
		return err
	}
	defer f.Close()
	status, err := io.ReadAll(io.LimitReader(f, 1<<16))
	if err != nil {
		return err
	}
	uid := false
	for line := range strings.Lines(string(status)) {
		key, value, _ := strings.Cut(line, ":")
		fields := strings.Fields(value)
		switch {
		case key == "NSpid" && len(fields) > 0:
			// One number for each namespace, the innermost last.
			if n, err := strconv.Atoi(fields[len(fields)-1]); err == nil {
				p.InnerPID = n
			}
		case key == "Uid" && len(fields) > 1:
			// Real, effective, saved, file system.
			if n, err := strconv.ParseUint(fields[1], 10, 32); err == nil {
				p.UID, uid = uint32(n), true
			}
		}
	}
	if !uid {
		return fmt.Errorf("no Uid")
	}
	return nil
}
