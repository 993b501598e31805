//go:build !unix

package browsertest

import "os/exec"

func ownGroup(cmd *exec.Cmd) (end func()) { return func() { _ = cmd.Process.Kill() } }
