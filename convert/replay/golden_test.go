package replay

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// form is one way in which a recording reaches the package.
type form struct {
	perftext.Form
	stream bool // arrives once, from a pipe
	live   bool // records straight from the rings
}

func (f form) String() string {
	switch {
	case f.live:
		return f.Order.String() + " live"
	case f.stream:
		return f.Form.String() + " streamed"
	}
	return f.Form.String()
}

// forms are all ways in which a recording can arrive.
func forms() (fs []form) {
	for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
		for _, z := range []abi.RecordType{0, abi.RecordCompressed, abi.RecordCompressed2} {
			fs = append(fs,
				form{Form: perftext.Form{Order: o, Zstd: z}},
				form{Form: perftext.Form{Order: o, Zstd: z, Pipe: true}},
				form{Form: perftext.Form{Order: o, Zstd: z, Pipe: true}, stream: true})
		}
		fs = append(fs, form{Form: perftext.Form{Order: o}, live: true})
	}
	return fs
}

// convert converts a recording that arrives in the given form.
func (f form) convert(rec *perftext.Recording, opts Options) (*stacks.Set, Stats, error) {
	if f.live {
		return convertLive(rec, f.Order, opts)
	}
	b, err := rec.Assemble(f.Form)
	if err != nil {
		return nil, Stats{}, err
	}
	return convertBytes(b, f.stream, opts)
}

func convertBytes(b []byte, stream bool, opts Options) (*stacks.Set, Stats, error) {
	var r *perfdata.Reader
	var err error
	if stream {
		r, err = perfdata.NewReader(io.MultiReader(bytes.NewReader(b))) // not an io.ReaderAt
	} else {
		r, err = perfdata.NewReaderAt(bytes.NewReader(b), int64(len(b)))
	}
	if err != nil {
		return nil, Stats{}, err
	}
	return File(context.Background(), r, opts)
}

// convertLive writes each round in two pieces, cut inside a record.
func convertLive(rec *perftext.Recording, o abi.Order, opts Options) (*stacks.Set, Stats, error) {
	c := NewCollector(o, rec.Events, opts)
	for _, b := range rec.Records(o) {
		if err := c.Write(b[:len(b)/2], b[len(b)/2:]); err != nil {
			return nil, Stats{}, err
		}
		if err := c.FinishRound(); err != nil {
			return nil, Stats{}, err
		}
	}
	return c.Finish()
}

// dump is what a recording comes to, in lines whose order depends on nothing but
// themselves:
//
//	event comm/pid: leaf < caller = count period
//	at TIME: event comm/pid: leaf < caller + weight, in the order of the moments
//	what of Stats is not zero
func dump(set *stacks.Set, st Stats, err error) string {
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var rows []string
	for i := range set.NumSamples() {
		rows = append(rows, dumpRow(set, set.Sample(i)))
	}
	slices.Sort(rows)
	for _, m := range set.TimedSamples {
		row, _, _ := strings.Cut(dumpRow(set, set.Sample(int(m.Sample))), " = ")
		rows = append(rows, fmt.Sprintf("at %d: %s + %d", m.Time, row, m.Value))
	}
	for _, e := range st.Samples {
		if e.Samples != e.Taken {
			rows = append(rows, fmt.Sprintf("%s: %d of %d samples", e.Name, e.Taken, e.Samples))
		}
		if e.Lost != 0 {
			rows = append(rows, fmt.Sprintf("%s: %d lost samples", e.Name, e.Lost))
		}
	}
	for _, c := range []struct {
		n    uint64
		what string
	}{
		{st.Lost, "lost"}, {st.LostSamples, "lost samples"}, {st.Throttled, "throttled"},
		{st.UnknownEvent, "unknown events"}, {st.BadSamples, "bad samples"}, {st.BadRecords, "bad records"},
		{st.MissingDeferredChains, "half chains"}, {st.Guest, "guest"}, {st.Hypervisor, "hypervisor"}, {st.Unnamed, "unnamed"}, {st.Exited, "exited"}, {st.UnmappedFrames, "unmapped frames"},
	} {
		if c.n != 0 {
			rows = append(rows, fmt.Sprintf("%s: %d", c.what, c.n))
		}
	}
	if st.Truncated != nil {
		rows = append(rows, "truncated")
	}
	return strings.Join(append(rows, ""), "\n")
}

func dumpRow(set *stacks.Set, s stacks.Sample) string {
	var frames []string
	for _, loc := range set.Stack(s.Stack) {
		frames = append(frames, dumpFrame(set, set.Locations[loc]))
	}
	var labels []string
	comm, _ := set.Label(s.Labels, "comm")
	pid, _ := set.Label(s.Labels, "pid")
	for _, l := range set.Labels(s.Labels)[2:] {
		value := l.Str
		if value == "" {
			value = fmt.Sprint(l.Num)
		}
		labels = append(labels, " "+l.Key+"="+value)
	}
	last := s.Values[len(s.Values)-1] // 1 for each where the second column is left out
	return fmt.Sprintf("%s %s/%d%s: %s = %d %d", set.Events[s.Event].Name, comm.Str, pid.Num,
		strings.Join(labels, ""), strings.Join(frames, " < "), s.Values[0], last)
}

func dumpFrame(set *stacks.Set, l stacks.Location) string {
	if l.Mapping < 0 {
		return map[stacks.Kind]string{
			stacks.KindUnknown: "?", stacks.KindKernel: "kernel?", stacks.KindGuest: "guest?", stacks.KindHypervisor: "hv",
		}[l.Kind] + fmt.Sprintf(" %#x", l.Addr)
	}
	m := &set.Mappings[l.Mapping]
	file := m.File
	if m.BuildID != "" {
		file += "@" + m.BuildID
	}
	if m.Builds != "" {
		file += "@" + strings.ReplaceAll(m.Builds, " ", "|")
	}
	switch m.Kind {
	case stacks.KindKernel:
		return fmt.Sprintf("kernel %#x", l.Addr)
	case stacks.KindUser, stacks.KindVDSO:
		return fmt.Sprintf("%s+%#x", file, l.Addr-m.Start+m.Offset)
	case stacks.KindAnon:
		return fmt.Sprintf("%s(%d) %#x", file, m.PID, l.Addr)
	}
	return fmt.Sprintf("%s %#x", file, l.Addr)
}

// golden is a file in testdata: what it says, the records, and what must come of
// them. Lines of the comment that begin with "only:" or "not:" name the forms
// it holds for, those that begin with "options:" the Options.
type golden struct {
	name    string
	archive *txtar.Archive
	rec     *perftext.Recording
	opts    Options
	skip    func(form) bool
}

func goldens(t testing.TB) (gs []golden) {
	archives := livetest.Archives(t, "testdata", "*")
	for _, name := range slices.Sorted(maps.Keys(archives)) {
		a := archives[name]
		if len(a.Files) != 2 || a.Files[0].Name != "records" || a.Files[1].Name != "want" {
			t.Fatalf("%s: wants the files records and want", name)
		}
		rec, err := perftext.Parse(string(a.Files[0].Data))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		g := golden{name: name, archive: a, rec: rec}
		if err := g.comment(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		gs = append(gs, g)
	}
	return gs
}

// comment reads the instructions in the comment.
func (g *golden) comment() error {
	var not []string
	for line := range strings.Lines(string(g.archive.Comment)) {
		key, val, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "options":
			if err := parseOptions(&g.opts, val); err != nil {
				return err
			}
		case "not":
			not = append(not, strings.Fields(val)...)
		}
	}
	g.skip = func(f form) bool {
		for _, n := range not {
			switch n {
			case "file":
				if !f.Pipe && !f.live {
					return true
				}
			case "pipe":
				if f.Pipe {
					return true
				}
			case "streamed":
				if f.stream || f.live {
					return true
				}
			case "live":
				if f.live {
					return true
				}
			case "big-endian":
				if f.Order == abi.BigEndian {
					return true
				}
			case "zstd":
				if f.Zstd != 0 {
					return true
				}
			}
		}
		return false
	}
	return nil
}

func parseOptions(o *Options, s string) error {
	for _, f := range strings.Fields(s) {
		k, v, _ := strings.Cut(f, "=")
		var n uint64
		if k != "event" && k != "comm" && k != "label" && k != "times" {
			if _, err := fmt.Sscan(v, &n); err != nil {
				return fmt.Errorf("option %s: %w", f, err)
			}
		}
		switch k {
		case "event":
			o.Events = append(o.Events, v)
		case "after": // the first sample
			o.Window = func(first, _ uint64) (uint64, uint64, error) { return first + n, 0, nil }
		case "comm":
			o.Comms = append(o.Comms, v)
		case "pid":
			o.PIDs = append(o.PIDs, int32(n))
		case "tid":
			o.TIDs = append(o.TIDs, int32(n))
		case "cpu":
			o.CPUs = append(o.CPUs, int32(n))
		case "from":
			o.From = n
		case "to":
			o.To = n
		case "times":
			o.Times = true
		case "label":
			o.Labels |= map[string]Labels{"tid": LabelTID, "cpu": LabelCPU}[v]
		default:
			return fmt.Errorf("no option %q", k)
		}
	}
	return nil
}

// TestGoldens converts each recording of testdata in every form it can have.
func TestGoldens(t *testing.T) {
	for _, g := range goldens(t) {
		t.Run(g.name, func(t *testing.T) {
			want := string(g.archive.Files[1].Data)
			var columns string // the same events in the same order, whatever the form
			for _, f := range forms() {
				if g.skip(f) {
					continue
				}
				set, st, err := f.convert(g.rec, g.opts)
				got := dump(set, st, err)
				if err == nil {
					c := fmt.Sprint(set.Events)
					if columns = cmp.Or(columns, c); columns != c {
						t.Errorf("%v: columns %s, before %s", f, c, columns)
					}
				}
				if *update {
					g.archive.Files[1].Data = []byte(got)
					livetest.WriteFile(t, "testdata/"+g.name+".txtar", txtar.Format(g.archive))
					break
				}
				if got != want {
					t.Fatalf("%v:\n%s\nwant:\n%s", f, got, want)
				}
			}
		})
	}
}
