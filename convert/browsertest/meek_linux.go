package browsertest

import (
	"os/exec"
	"syscall"
)

// meek has the browser end with the test, and stay at the priority of the test: as root Chromium
// raises that of its threads, above what runs beside these tests and is timed.
func meek(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if setpriv, err := exec.LookPath("setpriv"); err == nil && syscall.Geteuid() == 0 {
		cmd.Args = append([]string{setpriv, "--bounding-set=-sys_nice", cmd.Path}, cmd.Args[1:]...)
		cmd.Path = setpriv
	}
}
