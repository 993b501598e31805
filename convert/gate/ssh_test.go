package gate

import (
	"net"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
)

// TestSSHTunnel: what is no connection of ssh gives no command.
func TestSSHTunnel(t *testing.T) {
	livetest.Table(t, func(connection string) string {
		env := func(name string) string {
			return map[string]string{"SSH_CONNECTION": connection, "SUDO_USER": "ada"}[name]
		}
		return strings.Join(SSHTunnel(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8080}, env), "|")
	}, map[string]string{
		"192.0.2.1 50000 192.0.2.2 22":          "ssh|-N|-L|8080:127.0.0.1:8080|ada@192.0.2.2",
		"2001:db8::1 50000 2001:db8::2 2222":    "ssh|-N|-p|2222|-L|8080:127.0.0.1:8080|ada@2001:db8::2",
		"192.0.2.1 50000 host 22":               "",
		"192.0.2.1 50000 192.0.2.2 65536":       "",
		"192.0.2.1 50000":                       "",
		"192.0.2.1 50000 192.0.2.2 22 and more": "",
	})
}
