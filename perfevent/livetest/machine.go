package livetest

import (
	"sync"
	"testing"
)

// machine is this process's hold on the machine's settings, which tests of other
// packages may change or rely on at the same time.
var machine struct {
	sync.Mutex
	users   int // tests of this process that hold it
	release func()
}

// ChangeMachine keeps the tests of other packages that use perf from running until t
// ends: t changes settings of the kernel, takes CPUs away, or runs what perf cannot bear.
func ChangeMachine(t testing.TB) { holdMachine(t, true) }

// UseMachine keeps other packages' tests from changing the kernel's settings until t
// ends.
func UseMachine(t testing.TB) { holdMachine(t, false) }

func holdMachine(t testing.TB, change bool) {
	t.Helper()
	machine.Lock()
	defer machine.Unlock()
	if machine.users == 0 {
		release, err := lockMachine(change)
		if err != nil {
			t.Fatalf("wait for the machine's settings: %v", err)
		}
		machine.release = release
	} else if change {
		t.Fatal("ChangeMachine must come before what uses the machine")
	}
	machine.users++
	t.Cleanup(func() {
		machine.Lock()
		defer machine.Unlock()
		if machine.users--; machine.users == 0 {
			machine.release()
		}
	})
}
