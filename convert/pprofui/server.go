// Package pprofui serves the web pages of google/pprof to those who know their
// address, without opening what a profile names.
//
// pprof's own server answers everybody who reaches its port, reads every file that a
// profile says is its source, and runs objdump on every program that it says it is
// of. Here, every request passes a gate (see Server), pages of source come from one
// directory that the caller has opened, and nothing is disassembled.
package pprofui

import (
	"cmp"
	"errors"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/driver"
)

// Options say how pages are served.
type Options struct {
	// Sources is the directory below which source files may be read; nil for none.
	// It is to stay open until Serve returns.
	Sources *os.Root
	// Message takes what pprof and the HTTP server complain about, nil for nobody.
	// It may be called by several goroutines at once.
	Message func(text string)
	// Program is what the pages call the server, such as "kprof view"; "" for
	// "this server".
	Program string
	// HostHint and SourceHint say how the server is made to answer to another name,
	// and to read source files. They are put behind the texts that say that it does
	// not, "" for nothing.
	HostHint, SourceHint string
}

// Server serves the pages of one Profiles, below a path that nobody can guess. It
// answers a request that has
//
//  1. a Host which is of this machine, so that no page of a name that somebody
//     has made to resolve to it counts as one of ours,
//  2. no Origin, or that of our own pages,
//  3. the token as the first part of its path. It is in no cookie: those go to
//     every port of a host, whoever listens there.
//
// Everything else is answered with 403, whatever it asks for, and reaches nothing.
// What changes settings is neither GET nor HEAD, and must have an Origin.
type Server struct {
	options  Options
	listener net.Listener
	server   http.Server
	gate     gate
	graphviz bool
	sources  sourcePages
}

// Listen listens at host:port, with port 0 for any that is free and without a host
// for the loopback. The Server is to be closed.
func Listen(address string, o Options) (*Server, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	host = cmp.Or(host, "localhost")
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, err
	}
	o.Program = cmp.Or(o.Program, "this server")
	if o.Message == nil {
		o.Message = func(string) {}
	}
	_, err = exec.LookPath("dot")
	return &Server{options: o, listener: l, gate: newGate(host, l.Addr(), o), graphviz: err == nil}, nil
}

// Addr is where the server listens.
func (s *Server) Addr() *net.TCPAddr { return s.listener.Addr().(*net.TCPAddr) }

// Local reports whether only this machine can reach the server.
func (s *Server) Local() bool { return s.gate.local }

// Graphviz reports whether the page with the graph of calls can be drawn.
func (s *Server) Graphviz() bool { return s.graphviz }

// URL is where the pages are. Whoever knows it may see them.
func (s *Server) URL() string {
	addr := s.Addr()
	host := addr.IP.String()
	if addr.IP.IsUnspecified() {
		host = s.gate.hostname
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(addr.Port)) + "/" + s.gate.token + "/"
}

// Serve serves the pages of profiles until Close. Once they are made, and before the
// first is served, it calls ready, unless that is nil. It may be called once.
func (s *Server) Serve(p *Profiles, ready func()) error {
	s.sources = sourcePages{dir: s.options.Sources, from: p, options: s.options}
	return p.pages(false, s.options.Message, func(args *driver.HTTPServerArgs) error {
		s.server.Handler = s.handler(args.Handlers)
		s.server.ReadHeaderTimeout = 10 * time.Second
		s.server.MaxHeaderBytes = 64 << 10
		s.server.ErrorLog = log.New(messages(s.options.Message), "", 0)
		if ready != nil {
			ready()
		}
		if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
}

// Close ends Serve, and with it what is being served. It may be called again.
func (s *Server) Close() error {
	err := s.server.Close()
	if e := s.listener.Close(); !errors.Is(e, net.ErrClosed) {
		err = errors.Join(err, e)
	}
	return err
}

// messages is what an http.Server complains to.
type messages func(string)

func (m messages) Write(b []byte) (int, error) {
	m(strings.TrimSpace(string(b)))
	return len(b), nil
}

// Notes on pages, and in place of them.
const (
	// GraphNeeds says what is missing where Server.Graphviz is false.
	GraphNeeds = "the graph of calls needs graphviz (its program dot), which is not installed; all other views work without"
	noDisasm   = " opens no programs or libraries that a profile names, so it does not disassemble"
)

// handler serves pprof's pages, but for those that would open files which the
// profile names.
func (s *Server) handler(pages map[string]http.Handler) http.Handler {
	mux := http.NewServeMux()
	for path, page := range pages {
		method := http.MethodGet // and HEAD
		switch path {
		case "/":
			path = "/{$}"
		case "/saveconfig":
			method = http.MethodPost
		case "/deleteconfig":
			method = http.MethodDelete
		case "/disasm":
			page = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, s.options.Program+noDisasm, http.StatusForbidden)
			})
		case "/source":
			page = http.HandlerFunc(s.sources.serve)
		case "/graph":
			page = noted(page, "")
			if !s.graphviz {
				page = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, GraphNeeds, http.StatusNotImplemented) })
			}
		case "/top", "/peek":
			page = noted(page, "")
		case "/flamegraph":
			note := ""
			if !s.graphviz {
				note = GraphNeeds
			}
			page = noted(page, note)
		}
		mux.Handle(method+" "+path, page)
	}
	return s.gate.guard(mux)
}
