// Package pprofui answers requests with the web pages of google/pprof, without opening
// what a profile names.
//
// pprof's own server reads every file that a profile says is its source, and runs
// objdump on every program that it says it is of. Here, pages of source come from one
// directory that the caller has opened, and nothing is disassembled. Who may ask is
// decided by whoever serves them (convert/gate).
package pprofui

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"sync"

	"github.com/google/pprof/driver"
)

// Options say what pages show.
type Options struct {
	// Sources is the directory below which source files may be read; nil for none.
	// It is to stay open while pages are served.
	Sources *os.Root
	// Message takes what pprof complains about, nil for nobody. It may be called by
	// several goroutines at once.
	Message func(text string)
	// Program is what the pages call the server, such as "kprof view"; "" for
	// "this server".
	Program string
	// SourceHint says how the server is made to read source files. It is put behind
	// the text that says that it does not, "" for nothing.
	SourceHint string
}

// Notes on pages, and in place of them.
const (
	// GraphNeeds says what is missing where Graphviz is false.
	GraphNeeds = "the graph of calls needs graphviz (its program dot), which is not installed; all other views work without"
	noDisasm   = " opens no programs or libraries that a profile names, so it does not disassemble"
)

// Graphviz reports whether the page with the graph of calls can be drawn here.
func Graphviz() bool {
	_, err := exec.LookPath("dot")
	return err == nil
}

// pages is pprof's pages, made when the first is asked for.
type pages struct {
	options  Options
	profiles func() (*Profiles, error)
	graphviz bool
	sources  sourcePages

	once sync.Once
	mux  *http.ServeMux
	err  error
}

// Handler returns a handler of pprof's pages, whose paths begin with "/" and whose
// links are relative. Requests wait for profiles, which is called once, by the first of
// them: pprof takes many times the memory that a page of ours does.
func Handler(profiles func() (*Profiles, error), o Options) http.Handler {
	o.Program = cmp.Or(o.Program, "this server")
	if o.Message == nil {
		o.Message = func(string) {}
	}
	return &pages{options: o, profiles: profiles, graphviz: Graphviz()}
}

func (s *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.once.Do(func() { s.err = s.make() })
	if s.mux == nil {
		http.Error(w, fmt.Sprintf("pprof does not show the profile: %v", s.err), http.StatusInternalServerError)
		return
	}
	s.mux.ServeHTTP(w, r)
}

func (s *pages) make() error {
	p, err := s.profiles()
	if err != nil {
		return err
	}
	s.sources = sourcePages{dir: s.options.Sources, from: p, options: s.options}
	return p.pages(false, s.options.Message, func(args *driver.HTTPServerArgs) error {
		s.route(args.Handlers)
		return nil
	})
}

// route gives each of pprof's pages its path, but for those that would open files
// which the profile names.
func (s *pages) route(handlers map[string]http.Handler) {
	mux := http.NewServeMux()
	for path, page := range handlers {
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
	s.mux = mux
}
