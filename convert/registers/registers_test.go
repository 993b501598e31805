package registers_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	"kprof/convert"
	"kprof/convert/listing"
	"kprof/convert/registers"
	"kprof/perfevent/livetest"
	"kprof/perfevent/textlimit"
)

// tableOf reads what a file says. Those in testdata were made by testdata/mmio.sh of the project.
func tableOf(t testing.TB, name string, recent int) *registers.Table {
	t.Helper()
	rec := livetest.Open(t, convert.OpenRecordingFile, name)
	c := registers.Collector{Recent: recent}
	res, err := listing.Read(context.Background(), rec, listing.Options{}, &c)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range res.Warnings {
		if w.Kind != convert.LostRecords {
			t.Errorf("%s: %v", name, w)
		}
	}
	table := c.Table()
	if again := c.Table(); !reflect.DeepEqual(table, again) {
		t.Errorf("%s: %+v, and then %+v", name, table, again)
	}
	return table
}

func regions(t testing.TB, name string) *registers.Regions {
	t.Helper()
	f := livetest.Open(t, os.Open, name)
	var r registers.Regions
	if err := r.Read(f); err != nil {
		t.Fatal(err)
	}
	return &r
}

// TestTable: numbers of accesses and last values are those that awk finds in the text.
func TestTable(t *testing.T) {
	table := tableOf(t, "testdata/registers.txt", 0)
	r := regions(t, "testdata/regions")
	got := map[string]string{}
	for _, x := range table.Registers {
		kind := "R"
		if x.Write {
			kind = "W"
		}
		got[kind+" "+r.Name(x.Addr)] += fmt.Sprintf("%d %d %#x", x.Count, x.Duration.Count, x.Last)
	}
	want := map[string]string{
		"R pl011@9000000+0x018": "6 6 0x90", "R 0xffffffc008009000": "6 6 0x74726976",
		"R of_iomap@8010000+0x00c": "30 30 0x3ff", "W of_iomap@8000000+0xf00": "2 2 0x10001",
		"W of_iomap@8010000+0x010": "15 15 0x1b", "W pl011@9000000+0x000": "6 6 0x64",
	}
	for k, v := range want {
		if got[k] != v {
			t.Errorf("%s: %s, want %s", k, got[k], v)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%q, want %d", got, len(want))
	}
	if len(table.Unended) != 0 || table.Broken != 1 || table.Last != nil {
		t.Errorf("%+v", table)
	}
}

// TestOops: the access of which the kernel died comes first, and is the last of its CPU.
func TestOops(t *testing.T) {
	table := tableOf(t, "testdata/oops.log", 2)
	if len(table.Unended) != 1 || table.Broken != 0 || len(table.Last) != 2 || len(table.Last[0]) != 2 || len(table.Last[1]) != 2 {
		t.Fatalf("%+v", table)
	}
	a := table.Unended[0]
	if a != table.Last[1][1] || a.CPU != 1 || a.Addr != 0xffffffc008009104 || a.Width != 32 || a.Write || a.Ended ||
		a.Caller != "access_registers+0x6c [access]" || table.Registers[0].Unended != 1 || table.Registers[0].Addr != a.Addr {
		t.Errorf("%+v", a)
	}
}

// text is a line of a trace for each access: CPU and task, 9 if it is not said, flags, seconds,
// what it is.
func text(lines ...string) string {
	var b strings.Builder
	for _, l := range lines {
		w := strings.SplitN(l, " ", 4)
		cpu, tid, ok := strings.Cut(w[0], "/")
		if !ok {
			tid = "9"
		}
		fmt.Fprintf(&b, "  cat-%s [%s] %s %s: rwmmio_%s\n", tid, cpu, w[1], w[2], w[3])
	}
	return b.String()
}

// TestPairs: an interrupt's accesses are within another's, and what goes on has ended. Tasks
// preempt each other, and go on elsewhere. What had not ended when events were lost is counted
// once, whether its end comes or not.
func TestPairs(t *testing.T) {
	const a, b = "f+0x1/0x2 -> g+0x1/0x2 width=8 addr=0x1000", "f+0x1/0x2 -> h+0x1/0x2 width=16 addr=0x2000"
	value := func(s, v string) string { return strings.Replace(s, "addr", "val="+v+" addr", 1) }
	for name, x := range map[string]struct{ text, want string }{
		"interrupt":            {text("000 d.... 1.0 read: "+a, "000 d.h.. 1.1 read: "+b, "000 d.h.. 1.2 post_read: "+value(b, "0x5"), "000 d.... 1.3 post_read: "+value(a, "0x6")), "[g 1 1 6 h 1 1 5] 0 0"},
		"no end":               {text("000 d.h.. 1.0 read: "+a, "000 d.h.. 1.1 read: "+b, "000 d.h.. 1.2 post_read: "+value(b, "0x5")), "[g 1 0 0 h 1 1 5] 0 1"},
		"same place":           {text("000 ..... 1.0 read: "+a, "000 ..... 1.1 read: "+a, "000 ..... 1.2 post_read: "+value(a, "0x5")), "[g 2 1 5] 0 1"},
		"hung":                 {text("000 d.... 1.0 read: "+a, "001 d.... 1.1 write: "+value(b, "0x7")), "[g 1 0 0 h 1 0 7] 2 0"},
		"hung in an interrupt": {text("000 d.... 1.0 read: "+a, "000 d.h.. 1.1 read: "+b), "[g 1 0 0 h 1 0 0] 2 0"},
		"no begin":             {text("000 d.... 1.0 post_read: "+value(a, "0x1"), "000 d.... 1.1 read: "+b, "000 d.... 1.2 post_read: "+value(b, "0x5")), "[h 1 1 5] 0 1"},
		"lost":                 {text("000 d.... 1.0 read: "+a) + "CPU:0 [LOST 3 EVENTS]\n" + text("000 d.... 1.2 read: "+b, "000 d.... 1.3 post_read: "+value(b, "0x5")), "[g 1 0 0 h 1 1 5] 0 1"},
		"lost, then ended":     {text("000 d.... 1.0 read: "+a) + "CPU:0 [LOST 3 EVENTS]\n" + text("000 d.... 1.2 post_read: "+value(a, "0x5"), "000 d.... 1.3 read: "+a, "000 d.... 1.4 post_read: "+value(a, "0x6")), "[g 2 1 6] 0 1"},
		"lost at the end":      {text("000 d.... 1.0 read: "+a) + "CPU:0 [LOST 3 EVENTS]\n" + text("000 d.h.. 1.2 read: "+b), "[h 1 0 0 g 1 0 0] 1 1"},
		"preempted":            {text("000/9 d..1. 1.0 read: "+a, "000/8 d..1. 1.1 read: "+a, "000/8 d..1. 1.2 post_read: "+value(a, "0x5"), "000/9 d..1. 1.3 post_read: "+value(a, "0x6")), "[g 2 2 6] 0 0"},
		"preempted in turns":   {text("000/9 d..1. 1.0 read: "+a, "000/8 d..1. 1.1 read: "+b, "000/9 d..1. 1.2 post_read: "+value(a, "0x5"), "000/8 d..1. 1.3 post_read: "+value(b, "0x6")), "[g 1 1 5 h 1 1 6] 0 0"},
		"preempted, no end":    {text("000/9 d..1. 1.0 read: "+a, "000/8 d..1. 1.1 read: "+b, "000/9 d..1. 1.2 read: "+a, "000/8 d..1. 1.3 post_read: "+value(b, "0x6"), "000/9 d..1. 1.4 post_read: "+value(a, "0x5")), "[g 2 1 5 h 1 1 6] 0 1"},
		"migrated":             {text("000/9 d..1. 1.0 read: "+a, "000/8 d..1. 1.1 read: "+b, "001/9 d..1. 1.2 post_read: "+value(a, "0x5"), "000/8 d..1. 1.3 post_read: "+value(b, "0x6")), "[g 1 1 5 h 1 1 6] 0 0"},
		"idle of another CPU":  {text("000/0 d..1. 1.0 read: "+a, "001/0 d..1. 1.1 post_read: "+value(a, "0x5")), "[g 1 0 0] 1 1"},
	} {
		file := t.TempDir() + "/trace.txt"
		livetest.WriteFile(t, file, "# tracer: nop\n"+x.text)
		table := tableOf(t, file, 1)
		var rows []string
		for _, r := range table.Registers {
			place, _, _ := strings.Cut(r.Caller, "+")
			rows = append(rows, fmt.Sprint(place, " ", r.Count, " ", r.Duration.Count, " ", r.Last))
		}
		if got := fmt.Sprint(rows, " ", len(table.Unended), " ", table.Broken); got != x.want {
			t.Errorf("%s: %s, want %s", name, got, x.want)
		}
	}
}

func TestRegions(t *testing.T) {
	var r registers.Regions
	if err := r.Read(strings.NewReader("hello\n00000000-00000000 : hidden\n")); !errors.Is(err, registers.ErrNoRegions) {
		t.Error(err)
	}
	for _, s := range []string{
		"08000000-0800ffff : intc\n  08001000-08001fff : fe.dist gic@8001000\n08020000-08020fff : a b c\n",
		"0xffffffc008020000-0xffffffc008022000    8192 gic_of_setup+0x40/0x120 phys=0x0000000008001000 ioremap\nffff0000-ffff00ff : virtual\n",
		"0xffffffc008030000-0xffffffc008032000    8192 of_iomap+0x40/0x120 [mod] phys=0x0000000009001000 ioremap\n",
	} {
		if err := r.Read(strings.NewReader(s)); err != nil {
			t.Error(err)
		}
	}
	livetest.Table(t, r.Name, map[uint64]string{
		0x8000004: "intc+0x004", 0x8001000: "gic@8001000+0x000", 0x8002000: "intc+0x2000", 0x8020fff: "a b c+0xfff", 0x8021000: "0x8021000", 5: "0x5",
		0xffffffc008020010: "gic@8001000+0x010", 0xffffffc008021000: "intc+0x2000", 0xffff0080: "virtual+0x080",
		0xffffffc008030004: "of_iomap@9001000+0x004", 0xffffffc008032000: "0xffffffc008032000",
	})
}

// TestRegionsHostile: lines of any length are counted and skipped, one byte is a range, and ranges
// within each other are looked at as deep as there are in machines.
func TestRegionsHostile(t *testing.T) {
	var r registers.Regions
	err := r.Read(strings.NewReader("60-60 : keyboard\n" + strings.Repeat("x", 4096) + "\n70-71 : rtc\n" + strings.Repeat("80-81 : y", 10000) + "\n90-9f : last"))
	var long *registers.LongLinesError
	if !errors.As(err, &long) || long.Lines != 2 {
		t.Errorf("%v", err)
	}
	livetest.Table(t, r.Name, map[uint64]string{0x60: "keyboard+0x000", 0x61: "0x61", 0x71: "rtc+0x001", 0x81: "0x81", 0x9f: "last+0x00f"})
	var b strings.Builder
	const n = 60_000
	for i := range n {
		fmt.Fprintf(&b, "%x-%x : r%d\n", 0x1000+i, 0x1000+2*n-i, i)
	}
	var nested registers.Regions
	if err := nested.Read(strings.NewReader(b.String())); err != nil {
		t.Fatal(err)
	}
	if got := nested.Name(0x1000 + 20); got != "r20+0x000" {
		t.Error(got)
	}
	if got := nested.Name(0x1000 + 2*n); got != fmt.Sprintf("%#x", 0x1000+2*n) { // within the outermost alone
		t.Error(got)
	}
}

// endless is a line that does not end.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

func TestEndlessLine(t *testing.T) {
	var r registers.Regions
	if err := r.Read(io.MultiReader(strings.NewReader("1000-1fff : uart\n"), endless{})); !errors.Is(err, textlimit.ErrLine) {
		t.Errorf("error %v", err)
	}
}

// FuzzRegions looks for what panics or does not end.
func FuzzRegions(f *testing.F) {
	b, err := os.ReadFile("testdata/regions")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		var r registers.Regions
		if errors.Is(r.Read(bytes.NewReader(b)), registers.ErrNoRegions) {
			return
		}
		for _, addr := range []uint64{0, 0x8000000, 0xffffffc008020010, 1<<64 - 1} {
			if r.Name(addr) == "" {
				t.Fatal("no name")
			}
		}
	})
}
