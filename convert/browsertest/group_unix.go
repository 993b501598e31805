//go:build unix

package browsertest

import (
	"os/exec"
	"syscall"
)

// ownGroup gives a command a group of processes of its own, all of which end kills.
func ownGroup(cmd *exec.Cmd) (end func()) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
