package event

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"kprof/perfevent/tracefs"
)

// TestExplainUserPlace: of a function's name where the kernel wants an offset it is said how functions
// are named.
func TestExplainUserPlace(t *testing.T) {
	const hint = "uprobe:PATH:SYMBOL"
	for line, want := range map[string]bool{
		"r:g/n /bin/x:main ret=$retval": true, "p:g/n ./x:main": true,
		"p:g/n /bin/x:0x1139 a=%nosuch": false, "p:g/n /bin/x:4410 a=%nosuch": false, "p:g/n vfs_read a=%nosuch": false,
	} {
		err := new(Resolver).explainProbe(&tracefs.ProbeError{Definition: line, Err: unix.EINVAL}, Probe{Raw: line})
		if got := strings.Contains(err.Error(), hint); got != want {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// TestExplainUserArgument: who asks for $argN of a program's function is told where it is.
func TestExplainUserArgument(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	machine, err := machineOf(self)
	if err != nil {
		t.Fatal(err)
	}
	want := "in registers"
	if places := arguments[machine]; places != nil {
		want = "NAME=" + places[0]
	}
	const reason = "$arg* can be used only on function entry or exit"
	for _, c := range []struct {
		line string
		p    Probe
		want string
	}{
		{"p:g/n " + self + ":0x10 a=$arg1", Probe{User: true, Path: self, Symbol: "main"}, want},
		{"p:g/n " + self + ":0x10 a=$arg1", Probe{User: true, Path: self, Addr: 0x10}, want},
		{"p:g/n " + self + ":0x10 a=$arg1", Probe{Raw: "p:g/n " + self + ":0x10 a=$arg1"}, want},
		{"p:g/n /no/such:0x10 a=$arg1", Probe{User: true, Path: "/no/such"}, "in registers"},
		{"r:g/n " + self + ":0x10 a=$arg1", Probe{User: true, Path: self, Return: true}, "a return probe has $retval"},
	} {
		err := new(Resolver).explainProbe(&tracefs.ProbeError{Definition: c.line, Reason: reason, Err: unix.EINVAL}, c.p)
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.line, err, c.want)
		}
	}
}
