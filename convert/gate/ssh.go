package gate

import (
	"fmt"
	"net"
	"os"
	"os/user"
	"strconv"
	"strings"
)

// SSHTunnel is the command with which somebody who is here over ssh makes a port of this
// machine's loopback one of their own machine, word by word, the last being the machine;
// nil for others. getenv looks up variables of the environment, SSH_CONNECTION and
// SUDO_USER among them.
func SSHTunnel(addr *net.TCPAddr, getenv func(string) string) []string {
	// The addresses and ports of the client and of the server, see ssh(1).
	f := strings.Fields(sshConnection(getenv))
	if len(f) != 4 || net.ParseIP(f[2]) == nil {
		return nil
	}
	sshPort, err := strconv.ParseUint(f[3], 10, 16)
	if err != nil {
		return nil
	}
	host := f[2]
	if name := sshUser(getenv); name != "" {
		host = name + "@" + host
	}
	words := []string{"ssh", "-N"}
	if sshPort != 22 {
		words = append(words, "-p", strconv.FormatUint(sshPort, 10))
	}
	return append(words, "-L", fmt.Sprintf("%d:%s", addr.Port, addr), host)
}

// sshConnection is SSH_CONNECTION. Since sudo takes it out of the environment, it is
// looked for in the processes that we come from, too.
func sshConnection(getenv func(string) string) string {
	const name = "SSH_CONNECTION="
	if v := getenv(strings.TrimSuffix(name, "=")); v != "" {
		return v
	}
	if getenv("SUDO_USER") == "" {
		return ""
	}
	const generations = 16
	pid := os.Getppid()
	for range generations {
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil {
			return ""
		}
		for v := range strings.SplitSeq(string(env), "\x00") {
			if v, ok := strings.CutPrefix(v, name); ok {
				return v
			}
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return ""
		}
		// The comm, in parentheses, may hold anything.
		rest := string(stat[strings.LastIndexByte(string(stat), ')')+1:])
		f := strings.Fields(rest)
		if len(f) < 2 {
			return ""
		}
		if pid, err = strconv.Atoi(f[1]); err != nil || pid <= 1 {
			return ""
		}
	}
	return ""
}

// sshUser is who has logged in.
func sshUser(getenv func(string) string) string {
	if name := getenv("SUDO_USER"); name != "" {
		return name
	}
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}
