package tracer

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"kprof/perfevent/spelling"
	"kprof/perfevent/tracecmd"
	"kprof/perfevent/tracefs"
)

// Attach returns a Tracer of an instance that somebody has made, which is left as it is,
// but for what is read: that is gone from its rings, as it is with trace_pipe. cpus is nil
// for all.
func Attach(fs *tracefs.FS, name string, cpus []int) (*Tracer, error) {
	dir := filepath.Join(fs.Path(), "instances", name)
	entries, err := os.ReadDir(filepath.Join(fs.Path(), "instances"))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if _, err := os.Stat(filepath.Join(dir, "per_cpu")); name == "" || name != filepath.Base(name) || errors.Is(err, os.ErrNotExist) {
		list := "; there is none"
		if near := spelling.Closest(name, names); len(near) > 0 {
			list = spelling.Question(near)
		} else if len(names) > 0 {
			list = "; there is " + spelling.List(names[:min(len(names), spelling.Most)])
		}
		return nil, fmt.Errorf("the tracer has no instance %q in %s%s", name, filepath.Join(fs.Path(), "instances"), list)
	} else if err != nil {
		return nil, err
	}
	t := &Tracer{fs: fs, dir: dir, attached: true, o: Options{CPUs: cpus}}
	text, err := os.ReadFile(t.in("trace_clock"))
	if err != nil {
		return nil, err
	}
	t.clock = chosen(string(text))
	if err := t.openRings(); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// Tracing reports whether events are written into the rings.
func (t *Tracer) Tracing() (bool, error) {
	return tracefs.At(t.dir).Tracing()
}

// mostLeft is how many pages of a ring are read when all is to be read that is there:
// somebody may go on writing. Twice the size of the ring is more than that.
func (t *Tracer) mostLeft(r *ring) int {
	text, err := os.ReadFile(filepath.Join(t.in("per_cpu"), "cpu"+strconv.Itoa(r.cpu), "buffer_size_kb"))
	kb, _, _ := strings.Cut(chosen(string(text)), " ")
	n, perr := strconv.Atoi(kb)
	if err != nil || perr != nil {
		n = maxBuffers >> 10
	}
	return 2*(n<<10)/t.size + 2
}

// systems are the formats of all events of the kernel, but of the tracer's own.
func (t *Tracer) systems() (systems []tracecmd.System, err error) {
	paths, err := filepath.Glob(filepath.Join(t.fs.Path(), "events/*/*/format"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		name := filepath.Base(filepath.Dir(filepath.Dir(path)))
		if name == "ftrace" {
			continue
		}
		b, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // a module or a probe that was removed
		} else if err != nil {
			return nil, fmt.Errorf("formats of events: %w", err)
		}
		if n := len(systems); n == 0 || systems[n-1].Name != name {
			systems = append(systems, tracecmd.System{Name: name})
		}
		last := &systems[len(systems)-1]
		last.Formats = append(last.Formats, string(b))
	}
	return systems, nil
}
