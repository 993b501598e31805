package livetest

import (
	"os"
	"strings"
	"sync"
	"testing"
)

// machine is this process's hold on the machine, which tests of other processes may change or
// rely on at the same time.
var machine struct {
	sync.Mutex
	users   map[testing.TB]bool // tests of this process that hold it
	changed bool                // they hold it alone
	release func()
}

// held is set for the programs that a test runs while it holds the machine: tests among them
// have it by that, and would wait for their own parent where another waits to change it.
const held = "KPROF_TEST_HOLDS_MACHINE"

var inherited = os.Getenv(held) != ""

// ChangeMachine keeps the tests of other packages that use perf from running until t
// ends: t changes settings of the kernel, takes CPUs away, runs what perf cannot bear, or
// counts what others would do as well.
func ChangeMachine(t testing.TB) { holdMachine(t, true) }

// UseMachine keeps other packages' tests from changing the kernel's settings until t
// ends, as Require does. ChangeMachine may follow.
func UseMachine(t testing.TB) { holdMachine(t, false) }

// LeaveMachine ends what ChangeMachine began: others may use the machine again, as t still does.
func LeaveMachine(t testing.TB) {
	t.Helper()
	machine.Lock()
	defer machine.Unlock()
	if machine.changed {
		relock(t, false)
	}
}

// relock gives up what this process holds of the machine, and waits for it anew.
func relock(t testing.TB, change bool) {
	t.Helper()
	if machine.release != nil {
		machine.release()
	}
	var err error
	if machine.release, err = lockMachine(change); err != nil {
		machine.release = nil
		t.Fatalf("wait for the machine's settings: %v", err)
	}
	machine.changed = change
}

func holdMachine(t testing.TB, change bool) {
	t.Helper()
	if inherited {
		return
	}
	machine.Lock()
	defer machine.Unlock()
	others := 0 // but for t itself, and the tests that it is a part of
	for user := range machine.users {
		if user != t && !strings.HasPrefix(t.Name(), user.Name()+"/") {
			others++
		}
	}
	switch {
	case machine.changed, len(machine.users) > 0 && !change:
	case others > 0:
		t.Fatal("ChangeMachine must come before what uses the machine")
	default:
		relock(t, change)
		os.Setenv(held, "1")
	}
	if machine.users[t] {
		return
	}
	if machine.users == nil {
		machine.users = map[testing.TB]bool{}
	}
	machine.users[t] = true
	t.Cleanup(func() {
		machine.Lock()
		defer machine.Unlock()
		if delete(machine.users, t); len(machine.users) == 0 && machine.release != nil {
			machine.release()
			machine.release, machine.changed = nil, false
			os.Unsetenv(held)
		}
	})
}
