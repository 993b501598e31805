package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"kprof/convert/gate"
	"kprof/convert/pprofui"
)

// viewServer tells where pages are, and serves them until a signal.
type viewServer struct {
	*gate.Server
	browser bool      // one is to be opened
	hash    string    // what the page shows first, "" or "#" and more
	out     io.Writer // for the address
	signals *signals  // of what went before, nil for none

	served chan error // how serving ended, nil if it has not begun
	remove func()     // what opening a browser needed
}

// listenView takes the address that --http names; the port is known before it
// is told.
func listenView(addr string) (*viewServer, error) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, usagef("--http %q: wants host:port, or :port for this machine only", addr)
	}
	s, err := gate.Listen(addr, gate.Options{
		Message:  func(text string) { messagef("%s", text) },
		Program:  "kprof view",
		HostHint: ": --http names the address that it answers to",
	})
	if err != nil {
		return nil, err
	}
	return &viewServer{Server: s, out: os.Stdout}, nil
}

// serve serves the pages of what is shown, until a signal.
func (s *viewServer) serve(shown *shownPages) error {
	signals := s.signals
	if signals == nil {
		signals = watchSignals()
	}
	go func() {
		<-signals.first
		s.Close()
	}()
	s.start(shown)
	defer func() { s.remove() }()
	return <-s.served
}

// start begins to serve, unless that is so already.
func (s *viewServer) start(shown *shownPages) {
	if s.served != nil {
		return
	}
	s.served = make(chan error, 1)
	s.remove = s.announce(shown.onlyPprof)
	go func() { s.served <- s.Serve(shown.handler()) }()
}

// announce tells the address, and opens it where that is wanted; remove removes what
// is needed for that.
func (s *viewServer) announce(pprof bool) (remove func()) {
	fmt.Fprintln(s.out, s.URL()+s.hash)
	if !s.Local() {
		messagef("whoever can reach this machine and knows this address sees the profile, and the connection is not encrypted")
	}
	if hint := sshHint(s.Addr()); hint != "" && s.Local() {
		messagef("to see it at the same address on your own machine: %s", hint)
	}
	if pprof && !pprofui.Graphviz() {
		notef("%s", pprofui.GraphNeeds)
	}
	if !s.browser {
		return func() {}
	}
	remove, err := gate.OpenBrowser(s.URL()+s.hash, os.Getenv("BROWSER"), os.Stderr)
	if err != nil {
		messagef("no browser was opened: %v, and BROWSER names none", err)
	}
	return remove
}

// haveDisplay reports whether a browser would be seen.
func haveDisplay() bool { return os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != "" }

// sshHint is the command that makes a page here reachable for somebody who is here over
// ssh, "" for others.
func sshHint(addr *net.TCPAddr) string {
	words := gate.SSHTunnel(addr, os.Getenv)
	if words == nil {
		return ""
	}
	last := len(words) - 1
	return strings.Join(words[:last], " ") + " " + shellArg(words[last])
}
