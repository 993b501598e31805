package convert_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/pprof/profile"

	"kprof/convert"
	"kprof/convert/export"
	"kprof/perfevent/format/expr"
)

// openOther writes a profile as another tool would and opens it.
func openOther(t *testing.T, name string, write func(*os.File) error) *convert.Profile {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := write(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	p, err := convert.Open(context.Background(), path, convert.Options{Unnamed: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func openText(t *testing.T, name, text string) *convert.Profile {
	t.Helper()
	return openOther(t, name, func(f *os.File) error { _, err := f.WriteString(text); return err })
}

// foldedOf is what export writes of the main event.
func foldedOf(t *testing.T, p *convert.Profile) string {
	t.Helper()
	event, column := p.MainEvent()
	var b bytes.Buffer
	if _, err := export.Write(&b, p, export.Options{Format: export.Folded, Event: event, Column: column}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// heapProfile is one as Go's runtime writes them, of one stack of each of the names.
func heapProfile(defaultType string, names ...string) *profile.Profile {
	p := &profile.Profile{DefaultSampleType: defaultType}
	for _, c := range []string{"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"} {
		p.SampleType = append(p.SampleType, &profile.ValueType{Type: c, Unit: map[bool]string{true: "bytes", false: "count"}[c[len(c)-1] == 'e']})
	}
	for i, name := range names {
		f := &profile.Function{ID: uint64(i + 1), Name: name}
		l := &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f}}}
		p.Function, p.Location = append(p.Function, f), append(p.Location, l)
		v := int64(i + 1)
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{l}, Value: []int64{v, 100 * v, 10 * v, 1000 * v}})
	}
	return p
}

// TestDefaultSampleType: as pprof shows a file's default_sample_type, which runtime/pprof
// sets in its profile "allocs", so is it here; without one, or of a name that no column
// has, the last column.
func TestDefaultSampleType(t *testing.T) {
	for defaultType, want := range map[string]string{
		"alloc_space": "f 100\n", "inuse_objects": "f 10\n", "inuse_space": "f 1000\n", "": "f 1000\n", "cpu": "f 1000\n",
	} {
		p := openOther(t, "allocs.pb.gz", func(f *os.File) error { return heapProfile(defaultType, "f").Write(f) })
		if got := foldedOf(t, p); got != want {
			t.Errorf("default %q is shown as %q, want %q", defaultType, got, want)
		}
	}
}

// TestValueWithBlanks: what Instruments and cairo-profiler call "running time" is asked for in quotes.
func TestValueWithBlanks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.pb.gz")
	heap := heapProfile("", "f")
	heap.SampleType[1].Type = "running time"
	var b bytes.Buffer
	if err := heap.Write(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func(value string) (*convert.Profile, error) {
		x, err := expr.Parse(value)
		if err != nil {
			t.Fatal(err)
		}
		o := convert.Options{}
		o.Value = x
		return convert.Open(t.Context(), path, o)
	}
	p, err := open(`"running time"`)
	if err != nil {
		t.Fatal(err)
	}
	if got := foldedOf(t, p); got != "f 100\n" {
		t.Errorf("it is %q", got)
	}
	if _, err := open("cpu"); err == nil || !strings.Contains(err.Error(), `it has alloc_objects, "running time", inuse_objects, inuse_space`) {
		t.Errorf("of another one: %v", err)
	}
}

// TestNamesOfOthers: of what perf did not record, names are not cut as
// stackcollapse-perf.pl cuts perf's.
func TestNamesOfOthers(t *testing.T) {
	const (
		pySpy = "<module> (a.py:1);foo (a.py:10);bar (a.py:11) 12\n<module> (a.py:1);foo (a.py:10);bar (a.py:12) 3\n"
		node  = "(anonymous) 1\n(garbage collector) 2\n"
	)
	if d := cmp.Diff(pySpy, foldedOf(t, openText(t, "a.folded", pySpy))); d != "" {
		t.Error(d)
	}
	p := openOther(t, "node.pb.gz", func(f *os.File) error {
		p := heapProfile("alloc_objects", "(anonymous)", "(garbage collector)")
		return p.Write(f)
	})
	if d := cmp.Diff(node, foldedOf(t, p)); d != "" {
		t.Error(d)
	}

	const script = "prog 7 1.000000: 5 cycles:u: \n\t401000 std::f(int)+0x1 (/bin/prog)\n\t401100 (inlined) (/bin/prog)\n\n"
	recorded := openText(t, "perf.txt", script)
	if d := cmp.Diff("prog;std::f 5\n", foldedOf(t, recorded)); d != "" {
		t.Error(d)
	}
	// What was made of a recording here is still one.
	again := openOther(t, "perf.pb.gz", func(f *os.File) error {
		_, err := export.Write(f, recorded, export.Options{Format: export.Pprof})
		return err
	})
	if d := cmp.Diff("prog;std::f 5\n", foldedOf(t, again)); d != "" {
		t.Error(d)
	}
}

// TestDropFrames: what a file says to drop counts for its callers, as in pprof.
func TestDropFrames(t *testing.T) {
	heap := heapProfile("", "operator new(unsigned long)", "work")
	heap.DropFrames = "operator new|malloc"
	heap.Sample = heap.Sample[:1]
	heap.Sample[0].Location = heap.Location
	p := openOther(t, "heap.pb.gz", func(f *os.File) error { return heap.Write(f) })
	if got := foldedOf(t, p); got != "work 1000\n" {
		t.Errorf("it is %q", got)
	}
}

// TestFunctionWithoutName: Go's profile "threadcreate" has a location of address 0 whose function
// has no name; pprof shows it as <unknown>.
func TestFunctionWithoutName(t *testing.T) {
	p := openOther(t, "threadcreate.pb.gz", func(f *os.File) error { return heapProfile("", "").Write(f) })
	if got := foldedOf(t, p); got != "[unknown] 1000\n" {
		t.Errorf("it is %q", got)
	}
	if f := p.Set.Functions; len(p.Set.Lines(0)) != 0 {
		t.Errorf("its location has a function: %+v", f)
	}
}

// TestLabelFramesWhole: what a label says is no name of a function, which stackcollapse-perf.pl
// cuts at a parenthesis, or leaves out where one begins it; in a recording, in what perf script
// prints, and in a profile that was made of these.
func TestLabelFramesWhole(t *testing.T) {
	const text = "(sd-pam) 7 [000] 1.000000: 5 cpu-clock: \n\tffffffff81000010 vfs_read(x) ([kernel.kallsyms])\n\n"
	const want = "(sd-pam);(sd-pam);vfs_read 5\n"
	o := convert.Options{Unnamed: true, TagRoot: []string{"comm"}}
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	p, err := convert.Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	if got := foldedOf(t, p); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	again := openOther(t, "again.pb.gz", func(f *os.File) error {
		_, err := export.Write(f, p, export.Options{Format: export.Pprof})
		return err
	})
	if got := foldedOf(t, again); got != want {
		t.Errorf("by way of pprof: %q, want %q", got, want)
	}
}
