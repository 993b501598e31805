package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/driver"
	pprofile "github.com/google/pprof/profile"
	"github.com/spf13/cobra"

	"kprof/convert"
	"kprof/convert/pprof"
	"kprof/convert/stacks"
)

// viewFlags are the flags of kprof view.
type viewFlags struct {
	sel       selection
	sym       symbolOptions
	bases     []string
	addr      string
	noBrowser bool
}

func newView() *cobra.Command {
	var f viewFlags
	c := &cobra.Command{
		Use:   "view [INPUT…]",
		Short: "Look at profiles in the browser, with pprof's web interface",
		Long: `View shows profiles in the browser: as a flame graph, as a table, the callers and
callees of functions, and their source where lines are known. INPUT is anything
that kprof reads, perf.data by default; several are added up. With --diff-base it
shows what differs from another profile.

It prints its address, opens a browser where there is a display, and ends with
Ctrl-C. The web interface is that of google/pprof. Its graph view is drawn by
graphviz, if that is installed.`,
		Example: `  kprof view cpu.pb.gz
  kprof view --diff-base before.data after.data
  kprof view --http localhost:8080 --no-browser perf.data`,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), args) },
	}
	fl := c.Flags()
	fl.StringArrayVar(&f.bases, "diff-base", nil, "show the difference from this `profile`; several are added up")
	fl.StringVar(&f.addr, "http", "localhost:0", "`host:port` to listen at; port 0 is any that is free")
	fl.BoolVar(&f.noBrowser, "no-browser", false, "do not open a browser")
	f.sel.flags(c)
	f.sym.flags(c)
	return c
}

func (f *viewFlags) run(ctx context.Context, inputs []string) error {
	if len(inputs) == 0 {
		inputs = []string{defaultInput}
	}
	host, port, err := net.SplitHostPort(f.addr)
	if err != nil {
		return usagef("--http %q: wants host:port, or :port for this machine only", f.addr)
	}
	opts, err := f.sel.options()
	if err != nil {
		return err
	}
	shown := sources{}
	if err := shown.add(ctx, "profile", inputs, opts, f.sym); err != nil {
		return err
	}
	args := []string{"profile"}
	if len(f.bases) > 0 {
		if err := shown.add(ctx, "base", f.bases, opts, f.sym); err != nil {
			return err
		}
		args = []string{"-diff_base=base", "profile"}
	}
	// The port is taken before it is told.
	l, err := net.Listen("tcp", net.JoinHostPort(cmp.Or(host, "localhost"), port))
	if err != nil {
		return err
	}
	server := &viewServer{listener: l, dot: haveDot()}
	if f.noBrowser || !haveDisplay() {
		args = append([]string{"-no_browser"}, args...)
	}
	flags := &driverFlags{flag.NewFlagSet("pprof", flag.ContinueOnError), append([]string{"-http=" + l.Addr().String()}, args...)}
	err = driver.PProf(&driver.Options{
		Flagset: flags, Fetch: shown, Sym: noSymbolizer{}, Obj: noObjects{}, UI: driverUI{}, HTTPServer: server.serve,
	})
	return errors.Join(err, server.close())
}

// sources are the profiles that pprof is given, by name: it neither looks for
// files nor keeps copies of them.
type sources map[string]*pprofile.Profile

// manyStacks are more than pprof shows at once.
const manyStacks = 200_000

// add loads inputs and adds them up.
func (s sources) add(ctx context.Context, name string, inputs []string, opts convert.Options, sym symbolOptions) error {
	var set *stacks.Set
	for _, in := range inputs {
		p, err := load(ctx, in, opts, sym)
		if err != nil {
			return err
		}
		if set == nil {
			set = p.set
			if e := set.Events; set.DefaultType == "" && len(e) > 1 {
				set.DefaultType = e[0].Values[p.weightColumn(0)].Type
			}
			continue
		}
		set.Merge(p.set)
	}
	if n := set.NumStacks(); n > manyStacks {
		messagef("pprof's pages take their time with %d different stacks: select some, or use kprof convert -o FILE.html", n)
	}
	p, err := pprofOf(set)
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(inputs, ", "), err)
	}
	s[name] = p
	return nil
}

// pprofOf is a Set as pprof has it in memory.
func pprofOf(set *stacks.Set) (*pprofile.Profile, error) {
	r, w := io.Pipe()
	go func() { w.CloseWithError(pprof.Write(w, set, pprof.WriteOptions{})) }()
	p, err := pprofile.Parse(r)
	r.CloseWithError(err)
	return p, err
}

// Fetch is a driver.Fetcher. That a profile comes from nowhere keeps pprof from
// saving a copy.
func (s sources) Fetch(src string, _, _ time.Duration) (*pprofile.Profile, string, error) {
	if p := s[src]; p != nil {
		return p, "", nil
	}
	return nil, "", fmt.Errorf("no profile %q", src)
}

// viewServer serves pprof's pages until a signal comes.
type viewServer struct {
	listener net.Listener
	dot      bool // graphviz can be run
}

func (s *viewServer) serve(args *driver.HTTPServerArgs) error {
	srv := &http.Server{Handler: s.handler(args.Handlers), ReadHeaderTimeout: time.Minute}
	signals := watchSignals()
	go func() {
		<-signals.first
		srv.Close()
	}()
	fmt.Fprintf(os.Stdout, "http://%s/\n", s.listener.Addr())
	if !s.dot {
		messagef("%s", graphNeeds)
	}
	if err := srv.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (s *viewServer) close() error {
	if err := s.listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// graphNeeds is said where there is no graphviz.
const graphNeeds = "the graph of calls needs graphviz (its program dot), which is not installed; all other views work without"

func (s *viewServer) handler(pages map[string]http.Handler) http.Handler {
	mux := http.NewServeMux()
	for path, page := range pages {
		if path == "/" {
			path = "/{$}"
		}
		mux.Handle(path, page)
	}
	if s.dot {
		return mux
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/graph":
			http.Error(w, graphNeeds, http.StatusNotImplemented)
		case "/flamegraph":
			note := &noteWriter{ResponseWriter: w}
			mux.ServeHTTP(note, r)
			note.flush()
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

// noteWriter puts graphNeeds below the head of one of pprof's pages.
type noteWriter struct {
	http.ResponseWriter
	body bytes.Buffer
}

func (n *noteWriter) Write(b []byte) (int, error) { return n.body.Write(b) }

func (n *noteWriter) flush() {
	const place = `<div id="errors">`
	page := bytes.Replace(n.body.Bytes(), []byte(place),
		[]byte(`<div style="padding:6px 8px;background:#f4f4f4;color:#555">`+graphNeeds+"</div>\n"+place), 1)
	n.Header().Set("Content-Length", strconv.Itoa(len(page)))
	n.ResponseWriter.Write(page)
}

func haveDot() bool {
	_, err := exec.LookPath("dot")
	return err == nil
}

// haveDisplay reports whether a browser would be seen.
func haveDisplay() bool { return os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != "" }

// driverFlags gives pprof's driver a command line of its own.
type driverFlags struct {
	*flag.FlagSet
	args []string
}

func (f *driverFlags) StringList(name, def, usage string) *[]*string {
	return &[]*string{f.String(name, def, usage)}
}

func (f *driverFlags) ExtraUsage() string   { return "" }
func (f *driverFlags) AddExtraUsage(string) {}

func (f *driverFlags) Parse(usage func()) []string {
	f.Usage = usage
	if err := f.FlagSet.Parse(f.args); err != nil {
		return nil
	}
	return f.Args()
}

// noSymbolizer leaves the names as they are.
type noSymbolizer struct{}

func (noSymbolizer) Symbolize(string, driver.MappingSources, *pprofile.Profile) error { return nil }

// noObjects keeps pprof from looking for binaries: mappings may be called
// "[kernel.kallsyms]", and all has its name already.
type noObjects struct{}

var errNoObjects = errors.New("kprof view opens no binaries")

func (noObjects) Open(string, uint64, uint64, uint64, string) (driver.ObjFile, error) {
	return nil, errNoObjects
}

func (noObjects) Disasm(string, uint64, uint64, bool) ([]driver.Inst, error) {
	return nil, errNoObjects
}

// driverUI passes on what pprof's driver has to complain about.
type driverUI struct{}

func (driverUI) ReadLine(string) (string, error)     { return "", io.EOF }
func (driverUI) Print(...any)                        {}
func (driverUI) PrintErr(args ...any)                { messagef("%s", strings.TrimSpace(fmt.Sprint(args...))) }
func (driverUI) IsTerminal() bool                    { return false }
func (driverUI) WantBrowser() bool                   { return true }
func (driverUI) SetAutoComplete(func(string) string) {}
