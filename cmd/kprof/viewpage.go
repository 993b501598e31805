package main

import (
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"kprof/convert/pprofui"
)

// viewServer tells where pages are, and serves them until a signal.
type viewServer struct {
	*pprofui.Server
	browser bool      // one is to be opened
	out     io.Writer // for the address
	signals *signals  // of what went before, nil for none
}

// listenView takes the address that --http names; the port is known before it
// is told. Source files are read below dir, nil for none.
func listenView(addr string, dir *os.Root) (*viewServer, error) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, usagef("--http %q: wants host:port, or :port for this machine only", addr)
	}
	s, err := pprofui.Listen(addr, pprofui.Options{
		Sources:    dir,
		Message:    func(text string) { messagef("%s", text) },
		Program:    "kprof view",
		HostHint:   ": --http names the address that it answers to",
		SourceHint: " --source DIR allows the files below a directory.",
	})
	if err != nil {
		return nil, err
	}
	return &viewServer{Server: s, out: os.Stdout}, nil
}

// serve serves the pages of what is shown, until a signal.
func (s *viewServer) serve(shown *pprofui.Profiles) error {
	remove := func() {}
	defer func() { remove() }()
	return s.Serve(shown, func() {
		signals := s.signals
		if signals == nil {
			signals = watchSignals()
		}
		go func() {
			<-signals.first
			s.Close()
		}()
		remove = s.announce()
	})
}

// announce tells the address, and opens it where that is wanted; remove removes what
// is needed for that.
func (s *viewServer) announce() (remove func()) {
	fmt.Fprintln(s.out, s.URL())
	if !s.Local() {
		messagef("whoever can reach this machine and knows this address sees the profile, and the connection is not encrypted")
	}
	if hint := sshHint(s.Addr()); hint != "" && s.Local() {
		messagef("to see it at the same address on your own machine: %s", hint)
	}
	if !s.Graphviz() {
		notef("%s", pprofui.GraphNeeds)
	}
	if !s.browser {
		return func() {}
	}
	remove, err := openBrowser(s.URL())
	if err != nil {
		messagef("no browser was opened: %v", err)
	}
	return remove
}

// haveDisplay reports whether a browser would be seen.
func haveDisplay() bool { return os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != "" }

// openBrowser opens a page in a browser; remove removes what it needs for that.
// Everybody on the machine can read the arguments of a program, so the address is
// in a file that only its owner can read.
func openBrowser(url string) (remove func(), err error) {
	browsers := []string{"sensible-browser", "google-chrome", "chromium", "firefox", "xdg-open"}
	if b := os.Getenv("BROWSER"); b != "" {
		browsers = append([]string{b}, browsers...)
	}
	dir, err := os.MkdirTemp("", "kprof-view-")
	if err != nil {
		return func() {}, err
	}
	remove = func() { os.RemoveAll(dir) }
	name := filepath.Join(dir, "view.html")
	page := `<!doctype html><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=` + html.EscapeString(url) + `">`
	if err := os.WriteFile(name, []byte(page), 0o600); err != nil {
		return remove, err
	}
	for _, b := range browsers {
		words := strings.Fields(b)
		if len(words) == 0 {
			continue
		}
		cmd := exec.Command(words[0], append(words[1:], "file://"+name)...)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err == nil {
			go cmd.Wait()
			return remove, nil
		}
	}
	return remove, errors.New("none is installed, and BROWSER names none")
}
