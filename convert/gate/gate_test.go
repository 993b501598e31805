package gate

import (
	"net"
	"testing"
)

// TestGateNames: the address that is listened at is answered to, and no other.
func TestGateNames(t *testing.T) {
	local := newGate("localhost", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, Options{})
	named := newGate("box.example", &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7)}, Options{})
	all := newGate("0.0.0.0", &net.TCPAddr{IP: net.IPv4zero}, Options{})
	all.named = []string{"box"}
	for _, tt := range []struct {
		host              string
		local, named, all bool
	}{
		{"localhost:1", true, true, true},
		{"[::1]:1", true, true, true},
		{"::1", true, true, true},
		{"box.example", false, true, false},
		{"BOX.example:80", false, true, false},
		{"192.0.2.7:80", false, true, true},
		{"192.0.2.8:80", false, false, true},
		{"box:80", false, false, true},
		{"evil.example", false, false, false},
		{"", false, false, false},
		{":80", false, false, false},
		{"localhost.evil.example", false, false, false},
	} {
		if l, n, a := local.answers(tt.host), named.answers(tt.host), all.answers(tt.host); l != tt.local || n != tt.named || a != tt.all {
			t.Errorf("%q: %v %v %v, want %v %v %v", tt.host, l, n, a, tt.local, tt.named, tt.all)
		}
	}
	if local.token == named.token {
		t.Error("two tokens are the same")
	}
}
