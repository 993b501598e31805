// Package gate serves HTTP to those who know the address, and to nobody else.
package gate

import (
	"cmp"
	"errors"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Options say how pages are served.
type Options struct {
	// Message takes what the HTTP server complains about, nil for nobody. It may be
	// called by several goroutines at once.
	Message func(text string)
	// Program is what refusals call the server, such as "kprof view"; "" for
	// "this server".
	Program string
	// HostHint says how the server is made to answer to another name. It is put behind
	// the text that says that it does not, "" for nothing.
	HostHint string
}

// Server serves a handler below a path that nobody can guess. It answers a request
// that has
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
	return &Server{options: o, listener: l, gate: newGate(host, l.Addr(), o)}, nil
}

// Addr is where the server listens.
func (s *Server) Addr() *net.TCPAddr { return s.listener.Addr().(*net.TCPAddr) }

// Local reports whether only this machine can reach the server.
func (s *Server) Local() bool { return s.gate.local }

// URL is where the pages are, with a slash at its end. Whoever knows it may see them.
func (s *Server) URL() string {
	addr := s.Addr()
	host := addr.IP.String()
	if addr.IP.IsUnspecified() {
		host = s.gate.hostname
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(addr.Port)) + "/" + s.gate.token + "/"
}

// Serve has pages answer what passes, with paths that begin behind the token, until
// Close. It may be called once.
func (s *Server) Serve(pages http.Handler) error {
	s.server.Handler = s.gate.guard(pages)
	s.server.ReadHeaderTimeout = 10 * time.Second
	s.server.MaxHeaderBytes = 64 << 10
	s.server.ErrorLog = log.New(messages(s.options.Message), "", 0)
	if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
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
