package format_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"kprof/perfevent/abi"
	"kprof/perfevent/format"
	"kprof/perfevent/livetest"
	"kprof/perfevent/memtest"
)

// everyKind is a format with a field of each kind, as 6.18 writes them.
var everyKind = format.Text("every", 1234, `	field:s8 i8;	offset:8;	size:1;	signed:1;
	field:__u8 w8;	offset:9;	size:1;	signed:0;
	field:short i16;	offset:10;	size:2;	signed:1;
	field:umode_t w16;	offset:12;	size:2;	signed:0;
	field:bool yes;	offset:14;	size:1;	signed:0;
	field:char mode;	offset:15;	size:1;	signed:0;
	field:enum zone_type zone;	offset:16;	size:4;	signed:0;
	field:xfs_agnumber_t ag;	offset:20;	size:4;	signed:0;
	field:long i64;	offset:24;	size:8;	signed:1;
	field:unsigned long w64;	offset:32;	size:8;	signed:0;
	field:const struct iovec * ptr;	offset:40;	size:8;	signed:0;
	field:void (*fn)(int, char *);	offset:48;	size:8;	signed:0;
	field:char comm[8];	offset:56;	size:8;	signed:0;
	field:unsigned char mac[6];	offset:64;	size:6;	signed:0;
	field:__s16 pair[2][2];	offset:70;	size:8;	signed:1;
	field:__data_loc char[] name;	offset:80;	size:4;	signed:0;
	field:__data_loc u32[] words;	offset:84;	size:4;	signed:0;
	field:__rel_loc char[] rel;	offset:88;	size:4;	signed:0;
	field:__data_loc cpumask_t cpus;	offset:92;	size:4;	signed:0;
	field:struct timespec when;	offset:96;	size:12;	signed:0;
	field:unsigned long graph_ent.func;	offset:108;	size:8;	signed:0;
	field:nodemask_t nodes;	offset:116;	size:8;	signed:0;
	field:char buf[];	offset:160;	size:0;	signed:0;
`, `"x %s", REC->comm`)

// everyRecord is a record of it, in a byte order.
func everyRecord(o abi.Order) []byte {
	b := o.AppendUint16(nil, 1234)
	b = append(b, 0, 0)
	b = o.AppendUint32(b, 77)
	b = append(b, 0xff, 0xff)
	b = o.AppendUint16(b, 0xfffe)
	b = o.AppendUint16(b, 0x81a4)
	b = append(b, 1, 'w')
	b = o.AppendUint32(b, 2)
	b = o.AppendUint32(b, 0xffffffff)
	b = o.AppendUint64(b, ^uint64(0))
	b = o.AppendUint64(b, 1<<63)
	b = o.AppendUint64(b, 0xffff800012345678)
	b = o.AppendUint64(b, 0xffffffff81000000)
	b = append(b, "cat\x00rest"...)
	b = append(b, 1, 2, 3, 4, 5, 6)
	for _, v := range []uint16{1, 0xffff, 3, 4} {
		b = o.AppendUint16(b, v)
	}
	b = append(b, 0, 0)
	b = o.AppendUint32(b, 5<<16|124)      // name, at 124
	b = o.AppendUint32(b, 8<<16|132)      // words
	b = o.AppendUint32(b, 4<<16|(140-92)) // rel, at 140
	b = o.AppendUint32(b, 16<<16|144)     // cpus
	b = append(b, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 1, 2)
	b = o.AppendUint64(b, 0xffffffff81000010)
	b = o.AppendUint64(b, 0x8000000000000001)
	b = append(b, "/tmp\x00\x00\x00\x00"...)
	b = o.AppendUint32(b, 10)
	b = o.AppendUint32(b, 0xfffffff6)
	b = append(b, "rel\x00"...)
	b = o.AppendUint64(b, 0xf) // CPUs 0-3
	b = o.AppendUint64(b, 1<<6)
	return append(b, "tail\x00pad"...)
}

func parse(t testing.TB, text string, m format.Machine) *format.Format {
	t.Helper()
	f, err := format.Parse(text, m)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestEveryKind reads every kind of field in both byte orders: the text of each says
// what was read.
func TestEveryKind(t *testing.T) {
	want := map[string]string{
		"common_type": "1234", "common_flags": "0", "common_preempt_count": "0", "common_pid": "77",
		"i8": "-1", "w8": "255", "i16": "-2", "w16": "33188", "yes": "1", "mode": "119", "zone": "2", "ag": "4294967295",
		"i64": "-1", "w64": "0x8000000000000000", "ptr": "0xffff800012345678", "fn": "0xffffffff81000000",
		"comm": "cat", "mac": "{0x1,0x2,0x3,0x4,0x5,0x6}", "pair": "{1,-1,3,4}", "name": "/tmp", "words": "{0xa,0xfffffff6}",
		"rel": "rel", "cpus": "0-3,70", "when": "090807060504030201000102", "graph_ent.func": "0xffffffff81000010",
		"nodes": "0,63", "buf": "tail",
	}
	for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
		f := parse(t, everyKind, format.Machine{Order: o})
		raw := everyRecord(o)
		got := map[string]string{}
		for i := range f.Fields {
			got[f.Fields[i].Name] = string(f.Fields[i].AppendValue(nil, raw))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%v: -want +got\n%s", o, d)
		}
		if f.Name != "every" || f.ID != 1234 || f.Common != 4 || f.PrintFmt != `"x %s", REC->comm` {
			t.Errorf("%q %d %d %q", f.Name, f.ID, f.Common, f.PrintFmt)
		}
		if v, ok := f.Field("i16").Uint(raw); int64(v) != -2 || !ok {
			t.Error(int64(v), ok)
		}
		if v, ok := f.Field("pair").Index(raw, 1); int64(v) != -1 || !ok {
			t.Error(int64(v), ok)
		}
		if v, ok := f.Field("words").Index(raw, 2); ok {
			t.Error(v, "beyond the array")
		}
		if n, ok := f.Field("words").Len(raw); n != 2 || !ok {
			t.Error(n, ok)
		}
		if m := f.Field("cpus"); !m.Bit(raw, 70) || m.Bit(raw, 4) || m.Bit(raw, 128) || m.Bit(raw, -1) {
			t.Error("bits of the mask")
		}
	}
}

// TestLongOf32 reads what depends on the word size: a long array and a mask.
func TestLongOf32(t *testing.T) {
	const text = "name: x\nID: 1\nformat:\n" +
		"\tfield:unsigned long a;\toffset:0;\tsize:4;\tsigned:0;\n" +
		"\tfield:__data_loc unsigned long[] b;\toffset:4;\tsize:4;\tsigned:0;\n" +
		"\tfield:__data_loc cpumask_t c;\toffset:8;\tsize:4;\tsigned:0;\n"
	o := abi.BigEndian
	raw := o.AppendUint32(nil, 5)
	raw = o.AppendUint32(raw, 8<<16|12)
	raw = o.AppendUint32(raw, 8<<16|12)
	raw = o.AppendUint32(o.AppendUint32(raw, 1), 2)
	f := parse(t, text, format.Machine{Order: o, LongSize: 4})
	if s := string(f.AppendFields(nil, raw)); s != "a=0x5 b={0x1,0x2} c=0,33" {
		t.Error(s)
	}
}

// TestCut reads a record cut anywhere: nothing beyond it is read, and what is whole
// is read as before.
func TestCut(t *testing.T) {
	f := parse(t, everyKind, format.Machine{})
	whole := everyRecord(abi.LittleEndian)
	for n := range whole {
		raw := whole[:n:n]
		for i := range f.Fields {
			field := &f.Fields[i]
			b, ok := field.Bytes(raw)
			want, _ := field.Bytes(whole)
			if field.Place == format.Trailing {
				if want = want[:max(0, n-160)]; ok != (n >= 160) {
					t.Errorf("%s of %d bytes: %v", field.Name, n, ok)
				}
			}
			if ok && string(b) != string(want) {
				t.Errorf("%s of %d bytes: %x, want %x", field.Name, n, b, want)
			}
			v, ok := field.Uint(raw)
			if w, _ := field.Uint(whole); ok && v != w {
				t.Errorf("%s of %d bytes: %d", field.Name, n, v)
			}
			if ok != (field.Scalar() && n >= field.Offset+field.Size) {
				t.Errorf("%s of %d bytes: %v", field.Name, n, ok)
			}
		}
	}
}

func TestDeclarations(t *testing.T) {
	for _, tt := range []struct{ decl, want string }{
		{"int x; offset:8; size:4;", "{x int 8 4 true integer inline 4 1}"},            // before 2.6.36
		{"unsigned x; offset:8; size:4;", "{x unsigned 8 4 false integer inline 4 1}"}, // without sign told
		{"u32 x; offset:8; size:4;", "{x u32 8 4 false integer inline 4 1}"},           //
		{"char * const x; offset:8; size:8; signed:1;", "{x char * const 8 8 false pointer inline 8 1}"},
		{"char comm[TASK_COMM_LEN]; offset:8; size:16; signed:1;", "{comm char[TASK_COMM_LEN] 8 16 true char array inline 1 16}"},
		{"unsigned long args[6]; offset:8; size:48; signed:0;", "{args unsigned long[6] 8 48 false integer array inline 8 6}"},
		{"struct foo a[3]; offset:8; size:12; signed:0;", "{a struct foo[3] 8 12 false opaque array inline 4 3}"},
		{"xfs_foo_t a[3]; offset:8; size:12; signed:0;", "{a xfs_foo_t[3] 8 12 false integer array inline 4 3}"},
		{"long double x; offset:8; size:16; signed:0;", "{x long double 8 16 false opaque inline 16 1}"},
		{"__data_loc unsigned char[] d; offset:8; size:4; signed:0;", "{d __data_loc unsigned char[] 8 4 false integer array data_loc 1 0}"},
		{"__data_loc foo_t[] d; offset:8; size:4; signed:0;", "{d __data_loc foo_t[] 8 4 false opaque array data_loc 1 0}"},
		{"__data_loc char[] d; offset:8; size:8; signed:0;", "{d __data_loc char[] 8 8 false opaque inline 8 1}"},
		{"long long x; offset:8; size:8; signed:1;", "{x long long 8 8 true integer inline 8 1}"},
		{"char x; offset:8; size:1; signed:1;", "{x char 8 1 true char inline 1 1}"},
		{"__data_loc short int[] d; offset:8; size:4; signed:1;", "{d __data_loc short int[] 8 4 true integer array data_loc 2 0}"},
		{"__data_loc short unsigned int[] d; offset:8; size:4; signed:0;", "{d __data_loc short unsigned int[] 8 4 false integer array data_loc 2 0}"},
		{"u8 saddr[28]; offset:8; size:28; signed:0;", "{saddr u8[28] 8 28 false integer array inline 1 28}"},
	} {
		f := parse(t, "field:"+tt.decl, format.Machine{})
		x := f.Fields[0]
		array := ""
		if x.Array {
			array = " array"
		}
		got := fmt.Sprintf("{%s %s %d %d %v %s%s %s %d %d}", x.Name, x.Type, x.Offset, x.Size, x.Signed,
			[]string{"integer", "pointer", "char", "mask", "opaque"}[x.Kind], array,
			[]string{"inline", "data_loc", "rel_loc", "trailing"}[x.Place], x.Elem, x.Count)
		if got != tt.want {
			t.Errorf("%s\n%s, want\n%s", tt.decl, got, tt.want)
		}
	}
}

func TestSyntaxErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", `format of event "", offset 0: no fields: ""`},
		{"name: x\nID: y\n", `format of event "x", offset 8: the id is not a number: "ID: y"`},
		{"name: x\n\tfield:int a\n", `format of event "x", offset 8: a declaration without end: "field:int a"`},
		{"name: x\n\tfield:int a;\n", `format of event "x", offset 8: a field without offset or size: "field:int a;"`},
		{"name: x\n\tfield:int; offset:0; size:99999;\n", `format of event "x", offset 8: the size of a field is not a number below 65537: "field:int; offset:0; size:99999;"`},
		{"name: x\n\tfield:int 5; offset:0; size:4;\n", `format of event "x", offset 8: a declaration without name: "field:int 5; offset:0; size:4;"`},
		{"name: x\n" + strings.Repeat("\tfield:int a; offset:0; size:4;\n", 4097), `format of event "x", offset 131080: more than 4096 fields: "field:int a; offset:0; size:4;"`},
	} {
		_, err := format.Parse(tt.text, format.Machine{})
		var se *format.SyntaxError
		if !errors.As(err, &se) || err.Error() != tt.want {
			t.Errorf("%.60q: %v", tt.text, err)
		}
	}
	if _, err := format.Parse(everyKind, format.Machine{LongSize: 3}); err == nil {
		t.Error("no error for a long of 3 bytes")
	}
}

func TestNoAllocations(t *testing.T) {
	f := parse(t, everyKind, format.Machine{})
	raw := everyRecord(abi.LittleEndian)
	i64, comm, name, words, cpus := f.Field("i64"), f.Field("comm"), f.Field("name"), f.Field("words"), f.Field("cpus")
	buf := make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(100, func() {
		i64.Uint(raw)
		comm.String(raw)
		name.String(raw)
		words.Index(raw, 1)
		cpus.Bit(raw, 3)
		f.AppendFields(buf, raw)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestKernelFormats parses all formats that there are: each field line is a field,
// of a size that its kind has, and fields do not overlap but for those that other
// fields are parts of.
func TestKernelFormats(t *testing.T) {
	texts := livetest.Formats(t)
	fields := 0
	for name, text := range texts {
		f, err := format.Parse(text, format.Machine{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if n := strings.Count(text, "\tfield:"); n != len(f.Fields) {
			t.Errorf("%s: %d fields, of %d lines", name, len(f.Fields), n)
		}
		if f.Common != 4 || f.PrintFmt == "" || f.ID == 0 {
			t.Errorf("%s: %d common fields, id %d, print fmt %q", name, f.Common, f.ID, f.PrintFmt)
		}
		end := 0
		for _, x := range f.Fields {
			fields++
			if x.Offset < end {
				t.Errorf("%s: %s begins inside the field before", name, x.Name)
			}
			end = x.Offset + x.Size
			if x.Elem == 0 || x.Place == format.Inline && x.Elem*x.Count != x.Size {
				t.Errorf("%s: %s %s: %d elements of %d bytes in %d", name, x.Type, x.Name, x.Count, x.Elem, x.Size)
			}
			if strings.HasPrefix(x.Name, "common_") && !x.Scalar() {
				t.Errorf("%s: %s is no number", name, x.Name)
			}
		}
	}
	t.Logf("%d formats, %d fields", len(texts), fields)
}

func FuzzParse(f *testing.F) {
	f.Add(everyKind, false, true, everyRecord(abi.LittleEndian))
	f.Add(everyKind, true, false, everyRecord(abi.BigEndian))
	f.Fuzz(func(t *testing.T, text string, big, wide bool, raw []byte) {
		m := format.Machine{LongSize: 4}
		if big {
			m.Order = abi.BigEndian
		}
		if wide {
			m.LongSize = 8
		}
		check := memtest.Within(t, 1<<20+100*len(text)+20*len(raw))
		p, err := format.Parse(text, m)
		if err != nil {
			check()
			return
		}
		for i := range p.Fields {
			x := &p.Fields[i]
			x.Uint(raw)
			x.String(raw)
			if n, ok := x.Len(raw); ok && n > len(raw) {
				t.Errorf("%+v: %d elements in %d bytes", x, n, len(raw))
			}
			x.Index(raw, 0)
			x.Bit(raw, len(raw))
		}
		check()
		if len(p.Fields) > 0 {
			p.Fields[len(p.Fields)-1].AppendValue(nil, raw)
		}
	})
}

func BenchmarkField(b *testing.B) {
	f := parse(b, everyKind, format.Machine{})
	raw := everyRecord(abi.LittleEndian)
	number, text := f.Field("i64"), f.Field("name")
	b.Run("number", func(b *testing.B) {
		for b.Loop() {
			number.Uint(raw)
		}
	})
	b.Run("text", func(b *testing.B) {
		for b.Loop() {
			text.String(raw)
		}
	})
	b.Run("record", func(b *testing.B) {
		var buf []byte
		for b.Loop() {
			buf = f.AppendFields(buf[:0], raw)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := format.Parse(everyKind, format.Machine{}); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleFormat_Field() {
	f, err := format.Parse(`name: sched_stat_runtime
ID: 5
format:
	field:pid_t pid;	offset:8;	size:4;	signed:1;
	field:u64 runtime;	offset:16;	size:8;	signed:0;
`, format.Machine{})
	if err != nil {
		fmt.Println(err)
		return
	}
	runtime := f.Field("runtime") // once per event
	raw := make([]byte, 24)
	raw[16] = 200 // of a sample
	fmt.Println(runtime.Uint(raw))
	// Output: 200 true
}

// TestOldBuffers: before Linux 4.20, the tracer's own events declared what goes on to the
// end of the record as one element of no size.
func TestOldBuffers(t *testing.T) {
	f, err := format.Parse("name: print\nID: 5\nformat:\n\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"+
		"\tfield:char buf;\toffset:16;\tsize:0;\tsigned:1;\n\tfield:u32 words;\toffset:16;\tsize:0;\tsigned:0;\n", format.Machine{})
	if err != nil {
		t.Fatal(err)
	}
	raw := append(make([]byte, 16), "text\x00..."...)
	if b, ok := f.Field("buf").String(raw); !ok || string(b) != "text" || !f.Field("buf").Text() {
		t.Errorf("%q, %v", b, ok)
	}
	if n, ok := f.Field("words").Len(raw); !ok || n != 2 {
		t.Errorf("%d words, %v", n, ok)
	}
}
