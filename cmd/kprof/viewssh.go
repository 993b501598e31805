package main

import (
	"fmt"
	"net"
	"os"
	"os/user"
	"strconv"
	"strings"
)

// sshHint is the command with which somebody who is here over ssh makes a port of
// this machine's loopback one of their own machine, "" for others.
func sshHint(addr *net.TCPAddr) string {
	connection := sshConnection()
	if connection == "" {
		return ""
	}
	// The addresses and ports of the client and of the server, see ssh(1).
	f := strings.Fields(connection)
	if len(f) != 4 || net.ParseIP(f[2]) == nil {
		return ""
	}
	sshPort, err := strconv.ParseUint(f[3], 10, 16)
	if err != nil {
		return ""
	}
	host := f[2]
	if name := sshUser(); name != "" {
		host = name + "@" + host
	}
	option := ""
	if sshPort != 22 {
		option = fmt.Sprintf("-p %d ", sshPort)
	}
	return fmt.Sprintf("ssh -N %s-L %d:%s %s", option, addr.Port, addr, shellArg(host))
}

// sshConnection is SSH_CONNECTION. Since sudo takes it out of the environment, it is
// looked for in the processes that we come from, too.
func sshConnection() string {
	const name = "SSH_CONNECTION="
	if v := os.Getenv(strings.TrimSuffix(name, "=")); v != "" {
		return v
	}
	if os.Getenv("SUDO_USER") == "" {
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
func sshUser() string {
	if name := os.Getenv("SUDO_USER"); name != "" {
		return name
	}
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}
