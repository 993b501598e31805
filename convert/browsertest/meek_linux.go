package browsertest

import (
	"os/exec"
	"syscall"
)

// meek has the browser end with the test, and stay at the priority of the test: as root Chromium
// raises that of its threads, above what runs beside these tests and is timed.
func meek(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	// Root of a container may not be permitted to give a capability up.
	setpriv, err := exec.LookPath("setpriv")
	if err == nil && syscall.Geteuid() == 0 && exec.Command(setpriv, "--bounding-set=-sys_nice", "true").Run() == nil {
		cmd.Args = append([]string{setpriv, "--bounding-set=-sys_nice", cmd.Path}, cmd.Args[1:]...)
		cmd.Path = setpriv
	}
}
