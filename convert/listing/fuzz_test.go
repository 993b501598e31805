package listing_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"kprof/convert"
	"kprof/convert/listing"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
)

// described is a recording of a tracepoint with text, numbers and an address of code.
func described(f *testing.F) *perftext.Recording {
	rec, err := perftext.Parse(`event sys:ev type=tracepoint config=7 period=1 sample=ip,tid,time,cpu,raw,callchain flags=sample_id_all
event kprobe:f type=8 config=1 period=1 ids=2 sample=ip,tid,time,cpu,raw flags=sample_id_all
comm t=1 pid=7 comm="a\nb"
mmap t=1 pid=7 addr=0x400000 len=0x1000 off=0 file=/bin/a
sample t=30 pid=7 cpu=0 raw=070000000700000018000400c0f1ff81000000000c0000006162630a kernel 0x30 user 0x400010
round
sample t=20 pid=7 cpu=1 raw=07000000070000 kernel 0x20
sample t=25 pid=7 cpu=1 id=2 raw=0500000007000000d0f1ff8100000000c0f1ff8100000000 kernel 0x20
lost t=40 count=3 cpu=1
round
`)
	if err != nil {
		f.Fatal(err)
	}
	rec.Features.TracingData = (&perfdata.TracingData{
		Version: "0.6", Order: abi.LittleEndian, LongSize: 8, PageSize: 4096,
		Tracepoints: []perfdata.Tracepoint{{System: "sys", Name: "ev", ID: 7, Format: `name: ev
ID: 7
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:__data_loc char[] name;	offset:8;	size:4;	signed:0;
	field:void * function;	offset:12;	size:8;	signed:0;
	field:unsigned int flags;	offset:20;	size:4;	signed:0;

print fmt: "name=%s function=%pS flags=%s", __get_str(name), REC->function, __print_flags(REC->flags, "|", { 1, "A" }, { 4, "B" })
`}},
	}).AppendTo(nil)
	return rec
}

// FuzzRead lists arbitrary bytes as a recording, in a file and from a pipe, in each format.
// Nothing panics; text has a line an event, but for dumps of bytes; with several goroutines
// it is the same.
func FuzzRead(f *testing.F) {
	for _, pipe := range []bool{false, true} {
		b, err := described(f).Assemble(perftext.Form{Pipe: pipe})
		if err != nil {
			f.Fatal(err)
		}
		for flags := range byte(12) {
			f.Add(b, flags)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, flags byte) {
		if len(b) > 1<<16 {
			return
		}
		o := listing.PrinterOptions{Format: listing.Format(flags % 3), Stacks: flags&4 != 0}
		if flags&8 != 0 {
			o.Tail = 2
		}
		text, events := listBytes(t, b, o)
		if o.Parallel = true; !o.Stacks {
			if again, n := listBytes(t, b, o); again != text || n != events {
				t.Errorf("%d events, with goroutines %d:\n%s\nand\n%s", events, n, text, again)
			}
		}
		if n := strings.Count(text, "\n"); o.Tail == 0 && uint64(n) < events {
			t.Errorf("%d lines of %d events", n, events)
		}
	})
}

// listBytes lists bytes as a recording that is read once.
func listBytes(t *testing.T, b []byte, o listing.PrinterOptions) (string, uint64) {
	rec, err := convert.OpenRecording(struct{ io.Reader }{bytes.NewReader(b)})
	if err != nil {
		return "", 0
	}
	defer rec.Close()
	var out bytes.Buffer
	p := listing.NewPrinter(&out, o)
	res, err := listing.Read(t.Context(), rec, listing.Options{Options: convert.Options{Unnamed: true}, Stacks: o.Stacks, Address: p.Address, Memory: 1 << 16}, p)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if res == nil || err != nil && !errors.As(err, new(*convert.EmptyError)) && !errors.As(err, new(*convert.UnknownEventError)) {
		return out.String(), 0
	}
	return out.String(), res.Listed
}
