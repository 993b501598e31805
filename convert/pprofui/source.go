package pprofui

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/google/pprof/driver"

	"kprof/perfevent/lazyregexp"
)

// sourcePages serves pprof's listing of source lines. pprof opens whatever file a
// profile names, which is what whoever was recorded wants: a program may say that
// it was compiled from /etc/shadow. So this page is made from a copy of the
// profile, the file names of which cannot be opened, and lines of source are put
// in by us, from files below one directory that the user has named.
type sourcePages struct {
	dir     *os.Root // nil for none
	from    *Profiles
	options Options

	once sync.Once
	page http.Handler
	err  error
}

// seal makes a file name one that the kernel is not even asked for, since it
// ends in a byte that no name can have. In HTML the byte is sealShown.
const (
	seal      = "\x00"
	sealShown = "\uFFFD"
)

func (s *sourcePages) serve(w http.ResponseWriter, r *http.Request) {
	s.once.Do(func() {
		s.err = s.from.pages(true, s.options.Message, func(a *driver.HTTPServerArgs) error {
			s.page = a.Handlers["/source"]
			return nil
		})
	})
	if s.page == nil {
		http.Error(w, fmt.Sprintf("no listing of source: %v", s.err), http.StatusInternalServerError)
		return
	}
	k := &keptPage{ResponseWriter: w}
	s.page.ServeHTTP(k, r)
	page := k.body.Bytes()
	if s.dir != nil {
		page = fillSource(page, s.dir)
	}
	page = bytes.ReplaceAll(page, []byte(sealShown), nil)
	k.body = *bytes.NewBuffer(page)
	note := "Source is read only below " + filepath.Clean(s.dirName()) + "."
	if s.dir == nil {
		note = "No source file is read: " + s.options.Program + " opens nothing that a profile names." + s.options.SourceHint
	}
	k.note(note)
	k.flush()
}

func (s *sourcePages) dirName() string {
	if s.dir == nil {
		return ""
	}
	return s.dir.Name()
}

// What pprof's listing looks like: a head for each function, and a line of source
// for each number, here always of a file that could not be read.
var (
	listingHead = lazyregexp.New(`<h2>[^<]*</h2><p class="filename">([^<]*)` + sealShown + `</p>$`)
	listingLine = lazyregexp.New(`^(<span class=line> *(\d+)</span> <span class=\w+>.*)\?\?\? </span>(.*)$`)
)

// contextLines is how many lines are shown around those that have samples.
const contextLines = 5

// fillSource puts the lines of files below dir into a listing that has none. What
// it does not understand stays as it is.
func fillSource(page []byte, dir *os.Root) []byte {
	var out bytes.Buffer
	var file *sourceText
	for line := range strings.Lines(string(page)) {
		text := strings.TrimSuffix(line, "\n")
		if m := listingHead().FindStringSubmatch(text); m != nil {
			file = readSource(dir, html.UnescapeString(m[1]))
		}
		if m := listingLine().FindStringSubmatch(text); m != nil && file != nil {
			if n, err := strconv.Atoi(m[2]); err == nil && n > 0 {
				file.context(&out, n)
				if source, ok := file.line(n); ok {
					line = m[1] + html.EscapeString(source) + " </span>" + m[3] + "\n"
				}
				file.shown = n
			}
		}
		if strings.HasPrefix(strings.TrimSpace(text), "</pre>") && file != nil {
			file.context(&out, file.shown+contextLines+1)
			file = nil
		}
		out.WriteString(line)
	}
	return out.Bytes()
}

// sourceText is a file of source, of which the lines up to shown have been shown.
type sourceText struct {
	lines []string
	shown int
}

func (s *sourceText) line(n int) (string, bool) {
	if n < 1 || n > len(s.lines) {
		return "", false
	}
	return s.lines[n-1], true
}

// context writes the lines before line n that have not been shown: the nearest,
// or all from the last one that was shown.
func (s *sourceText) context(w io.Writer, n int) {
	from := s.shown + 1
	if s.shown == 0 {
		from = max(n-contextLines, 1)
	}
	for i := from; i < n; i++ {
		if text, ok := s.line(i); ok {
			fmt.Fprintf(w, "<span class=line> %6d</span> <span class=nop>  %10s %10s %8s  %s </span>\n", i, ".", ".", "", html.EscapeString(text))
		}
	}
}

// maxSource is how large a file of source may be.
const maxSource = 8 << 20

// readSource reads the file of a name as a profile has it, nil if it is not below
// dir: by the whole of its name, or by as much of its end as there is.
func readSource(dir *os.Root, name string) *sourceText {
	name = path.Clean("/" + name)
	if top, err := filepath.Abs(dir.Name()); err == nil {
		if rest, ok := strings.CutPrefix(name, top+"/"); ok {
			name = "/" + rest
		}
	}
	for rest, ok := name[1:], true; ok && rest != ""; _, rest, ok = strings.Cut(rest, "/") {
		if text, err := readBelow(dir, rest); err == nil {
			return text
		}
	}
	return nil
}

// readBelow reads a regular file below dir; links must not lead out of it.
func readBelow(dir *os.Root, name string) (*sourceText, error) {
	st, err := dir.Stat(name) // to open a device may do something
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err = f.Stat(); err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() > maxSource {
		return nil, errors.New("not a regular file, or too large")
	}
	lines := bufio.NewScanner(io.LimitReader(f, maxSource))
	lines.Buffer(nil, maxSource)
	var s sourceText
	for lines.Scan() {
		s.lines = append(s.lines, lines.Text())
	}
	return &s, lines.Err()
}
