package livetest

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestMachine: who uses the machine keeps others from changing it, who changes it keeps all
// others away, and one may become the other, in a part of the test too.
func TestMachine(t *testing.T) {
	free := func(how int) bool {
		fd, err := unix.Open("/proc/sys/kernel", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		return unix.Flock(fd, how|unix.LOCK_NB) == nil
	}
	t.Run("test", func(t *testing.T) {
		UseMachine(t)
		UseMachine(t)
		if free(unix.LOCK_EX) || !free(unix.LOCK_SH) {
			t.Error("in use, it can be changed by others, or not be used")
		}
		if os.Getenv(held) == "" {
			t.Error("programs that it runs do not know that it holds the machine")
		}
		t.Run("part", func(t *testing.T) {
			UseMachine(t)
			ChangeMachine(t)
			if free(unix.LOCK_SH) {
				t.Error("while it is changed others use it")
			}
			UseMachine(t)
			if free(unix.LOCK_SH) {
				t.Error("to use it too lets others use it")
			}
			LeaveMachine(t)
			if free(unix.LOCK_EX) || !free(unix.LOCK_SH) {
				t.Error("left, it can be changed by others, or not be used")
			}
			ChangeMachine(t)
			if free(unix.LOCK_SH) {
				t.Error("while it is changed again others use it")
			}
		})
	})
	if machine.release != nil || len(machine.users) > 0 || os.Getenv(held) != "" {
		t.Error("it is still held")
	}
	t.Run("next", func(t *testing.T) {
		UseMachine(t)
		if !free(unix.LOCK_SH) {
			t.Error("what was changed before is not let go")
		}
	})
	t.Run("program of a test", func(t *testing.T) {
		defer func(was bool) { inherited = was }(inherited)
		inherited = true
		UseMachine(t)
		if machine.release != nil {
			t.Error("it waits for the machine that its parent holds")
		}
	})
}
