package symbolize

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kprof/perfevent/fuzztest"
	"kprof/perfevent/memtest"
	"kprof/symbolize/mapping"
	"kprof/symbolize/unwind"
)

// kept are names of files of one path, of code that a process made, and of a dump.
func kept() *KeptNames {
	n := NewKeptNames()
	keep := func(m Mapping, err error, addr uint64, frames ...Frame) {
		n.keep(&m, []uint64{addr}, [][]Frame{frames}, err)
	}
	one, other := mapping.ID{Major: 8, Minor: 1, Inode: 5}, mapping.ID{Major: 8, Minor: 1, Inode: 5, Generation: 1}
	keep(Mapping{Kind: mapping.User, File: "/a", ID: one}, nil, 0x10, Frame{Name: "first", SystemName: "first"})
	keep(Mapping{Kind: mapping.User, File: "/a", ID: one}, nil, 0x20)
	keep(Mapping{Kind: mapping.User, File: "/a", ID: other}, nil, 0x10, Frame{Name: "f(int)", SystemName: "_Z1fi"})
	keep(Mapping{Kind: mapping.User, File: "/a", ID: other}, nil, 0x18, Frame{Name: "f(int)@plt", SystemName: "_Z1fi@plt"})
	keep(Mapping{Kind: mapping.User, File: "/go", BuildID: "abcd"}, nil, 0x99, Frame{"main.x", "main.x", "/src/x.go", 12, 10}, Frame{"main.y", "main.y", "/src/x.go", 7, 3})
	keep(Mapping{Kind: mapping.User, File: "/stripped", BuildID: "ef"}, ErrStripped, 0x10, Frame{Name: "exported", SystemName: "exported"})
	keep(Mapping{Kind: mapping.VDSO, File: "[vdso]", BuildID: "12"}, nil, 0x5, Frame{Name: "__vdso_time", SystemName: "__vdso_time"})
	keep(Mapping{Kind: mapping.Anon, File: "//anon", PID: 7, Start: 0x1000}, nil, 0x1010, Frame{Name: "_Z3jiti", SystemName: "_Z3jiti"})
	keep(Mapping{Kind: mapping.Kernel, File: "[kernel.kallsyms]"}, nil, 1<<63, Frame{Name: "vfs_read", SystemName: "vfs_read"})
	keep(Mapping{Kind: mapping.User, File: "/tmp/jit-1.dump", PID: 7}, nil, 0x110, Frame{Name: "made", SystemName: "made"})
	keep(Mapping{Kind: mapping.User, File: "/tmp/jit-1.dump", PID: 9}, nil, 0x110, Frame{Name: "in another container", SystemName: "in another container"})
	n.keepUnwind(&Mapping{Kind: mapping.User, File: "/a", ID: one}, unwind.FramePointers)
	n.keepCode(7, "/tmp/jit-1.dump", []JITCode{{5, 0x4000, 0x4040, 0x100}, {6, 0x5000, 0x5040, 0x200}, {7, 0x6000, 0x6040, 0x100}})
	return n
}

// TestNames: what was found is found again where nothing else is, of the same files, and
// what may be found better is looked for.
func TestNames(t *testing.T) {
	b, leftOut := kept().AppendTo(nil, 1<<20)
	names, err := DecodeNames(b)
	if err != nil || leftOut > 0 {
		t.Fatal(leftOut, err)
	}
	one, other := mapping.ID{Major: 8, Minor: 1, Inode: 5}, mapping.ID{Major: 8, Minor: 1, Inode: 5, Generation: 1}
	goFrames := []Frame{{"main.x", "main.x", "/src/x.go", 12, 10}, {"main.y", "main.y", "/src/x.go", 7, 3}}
	for name, x := range map[string]struct {
		o    Options
		m    Mapping
		addr uint64
		want []Frame
		err  bool
	}{
		"a file":                {m: Mapping{File: "/a", ID: one}, addr: 0x10, want: []Frame{{Name: "first", SystemName: "first"}}},
		"with a build id":       {m: Mapping{File: "/a", ID: one, BuildID: "77"}, addr: 0x10, want: []Frame{{Name: "first", SystemName: "first"}}},
		"no symbol":             {m: Mapping{File: "/a", ID: one}, addr: 0x20},
		"not sampled":           {m: Mapping{File: "/a", ID: one}, addr: 0x30, err: true},
		"of the same path":      {m: Mapping{File: "/a", ID: other}, addr: 0x10, want: []Frame{{Name: "f", SystemName: "_Z1fi"}}},
		"as the linker knows":   {o: Options{Demangle: DemangleNone}, m: Mapping{File: "/a", ID: other}, addr: 0x10, want: []Frame{{Name: "_Z1fi", SystemName: "_Z1fi"}}},
		"plt":                   {m: Mapping{File: "/a", ID: other}, addr: 0x18, want: []Frame{{Name: "f@plt", SystemName: "_Z1fi@plt"}}},
		"another file":          {m: Mapping{File: "/a", ID: mapping.ID{Inode: 6}}, addr: 0x10, err: true},
		"lines":                 {m: Mapping{File: "/go", BuildID: "abcd"}, addr: 0x99, want: goFrames},
		"padded":                {m: Mapping{File: "/go", BuildID: "ABCD0000"}, addr: 0x99, want: goFrames},
		"names only":            {o: Options{NamesOnly: true}, m: Mapping{File: "/go", BuildID: "abcd"}, addr: 0x99, want: []Frame{{Name: "main.x", SystemName: "main.x"}, {Name: "main.y", SystemName: "main.y"}}},
		"lines that are wanted": {o: Options{NamesOnly: true, Lines: true}, m: Mapping{File: "/go", BuildID: "abcd"}, addr: 0x99, want: goFrames, err: true},
		"root":                  {o: Options{Root: t.TempDir()}, m: Mapping{File: "/go", BuildID: "abcd"}, addr: 0x99, want: goFrames, err: true},
		"stripped":              {m: Mapping{File: "/stripped", BuildID: "ef"}, addr: 0x10, want: []Frame{{Name: "exported", SystemName: "exported"}}, err: true},
		"vdso":                  {m: Mapping{Kind: mapping.VDSO, File: "[vdso]", BuildID: "12"}, addr: 5, want: []Frame{{Name: "__vdso_time", SystemName: "__vdso_time"}}},
		"memory":                {m: Mapping{Kind: mapping.Anon, File: "[heap]", PID: 7}, addr: 0x1010, want: []Frame{{Name: "_Z3jiti", SystemName: "_Z3jiti"}}},
		"of another process":    {m: Mapping{Kind: mapping.Anon, File: "//anon", PID: 8}, addr: 0x1010, err: true},
		"the kernel":            {m: Mapping{Kind: mapping.Kernel, File: "[kernel.kallsyms]", BuildID: "ff"}, addr: 1 << 63, err: true},
		"made at run time":      {m: Mapping{File: "/tmp/jit-1.dump", PID: 7}, addr: 0x110, want: []Frame{{Name: "made", SystemName: "made"}}},
		"and by another":        {m: Mapping{File: "/tmp/jit-1.dump", PID: 9}, addr: 0x110, want: []Frame{{Name: "in another container", SystemName: "in another container"}}},
		"and by a third":        {m: Mapping{File: "/tmp/jit-1.dump", PID: 8}, addr: 0x110, err: true},
	} {
		if x.m.Kind == 0 {
			x.m.Kind = mapping.User
		}
		x.o.Foreign, x.o.Recorded = true, names
		s := New(x.o)
		got, err := s.Resolve(context.Background(), x.m, []uint64{x.addr})
		if name == "stripped" && !errors.Is(err, ErrStripped) {
			t.Errorf("stripped: %v", err)
		}
		if d := cmp.Diff(x.want, got[0]); d != "" || (err != nil) != x.err {
			t.Errorf("%s: %v -want +got\n%s", name, err, d)
		}
		s.Close()
	}

	s := New(Options{Foreign: true, Recorded: names})
	defer s.Close()
	if got := s.CallFrames(Mapping{Kind: mapping.User, File: "/a", ID: one}); got != unwind.FramePointers {
		t.Errorf("call frames %v", got)
	}
	if got := s.CallFrames(Mapping{Kind: mapping.User, File: "/a", ID: other}); got != nil {
		t.Errorf("call frames of a file without %v", got)
	}
	if d := cmp.Diff([]JITCode{{5, 0x4000, 0x4040, 0x100}, {7, 0x6000, 0x6040, 0x100}}, s.JITCode(7, "/tmp/jit-1.dump")); d != "" {
		t.Errorf("code that was sampled: -want +got\n%s", d)
	}
	if got := s.JITCode(9, "/tmp/jit-1.dump"); len(got) > 0 {
		t.Errorf("of another process: %v", got)
	}
}

// TestNamesOfFile: what a Symbolizer keeps while it names a file is what another one finds
// without the file, and what is in the file now is not asked for.
func TestNamesOfFile(t *testing.T) {
	kept := NewKeptNames()
	m := Mapping{Kind: mapping.User, File: goProgram(t), Start: 0x1000, Limit: 1 << 40}
	addrs := []uint64{0x1000, 0x2345, 0x8000, 0x10000, 0x20000}
	s := New(Options{Keep: kept, CallFrames: true})
	want, err := s.Resolve(context.Background(), m, addrs)
	if err != nil || s.CallFrames(m) == nil {
		t.Fatal(err)
	}
	s.Close()
	b, _ := kept.AppendTo(nil, 1<<20)
	names, err := DecodeNames(b)
	if err != nil {
		t.Fatal(err)
	}
	m.File = "/gone"
	for k, f := range names.files {
		delete(names.files, k)
		k.file = m.File
		names.files[k] = f
	}
	s = New(Options{Foreign: true, Recorded: names})
	defer s.Close()
	got, err := s.Resolve(context.Background(), m, addrs)
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v -want +got\n%s", err, d)
	}
	if len(want[4]) == 0 {
		t.Error("this program has no symbols")
	}
}

// TestNamesBounded: what does not fit is left out and counted, and looked for elsewhere,
// whether it is of one file, of many with few names each, or code of dumps.
func TestNamesBounded(t *testing.T) {
	library := func(file int) *Mapping {
		return &Mapping{Kind: mapping.User, File: fmt.Sprintf("/usr/lib/lib%d.so", file), BuildID: fmt.Sprintf("%016x", file+1)}
	}
	for files, perFile := range map[int]int{1: 1000, 20: 50, 1000: 1} {
		n := NewKeptNames()
		for file := range files {
			for i := range perFile {
				name := strings.Repeat("x", i%50) + string(rune('a'+i%26))
				n.keep(library(file), []uint64{uint64(i) * 16}, [][]Frame{{{Name: name, SystemName: name}}}, nil)
			}
			n.keepUnwind(library(file), unwind.FramePointers)
		}
		dump := dumpKey{1, "/tmp/jit-1.dump"}
		var code []JITCode
		for i := range uint64(100) {
			code = append(code, JITCode{Time: i, Start: 1 << 40, Limit: 1<<40 + 16, Offset: i * 16})
			n.keep(&Mapping{Kind: mapping.User, File: dump.path, PID: 1}, []uint64{i * 16}, [][]Frame{{{Name: "made", SystemName: "made"}}}, nil)
		}
		n.keepCode(dump.pid, dump.path, code)
		all := files*perFile + len(code)
		for _, limit := range []int{0, 20, 200, 1000, 5000, 10000, 50000, 1 << 20} {
			b, leftOut := n.AppendTo([]byte("before"), limit)
			if len(b)-len("before") > limit || limit <= 5000 && leftOut == 0 || limit == 1<<20 && leftOut > 0 || !bytes.HasPrefix(b, []byte("before")) {
				t.Errorf("%d files, limit %d: %d bytes, %d left out", files, limit, len(b), leftOut)
			}
			if len(b) == len("before") {
				if leftOut != all || limit > 20 {
					t.Errorf("%d files, limit %d: nothing is written", files, limit)
				}
				continue
			}
			names, err := DecodeNames(b[len("before"):])
			if err != nil {
				t.Fatal(err)
			}
			kept := 0
			for k, f := range names.files {
				kept += len(f.addrs)
				if whole := len(f.addrs) == len(n.files[k].frames); whole != (f.missing == missesNothing) {
					t.Errorf("%d files, limit %d: of %d addresses of %q %d are kept, missing %v", files, limit, len(n.files[k].frames), k.file, len(f.addrs), f.missing)
				}
			}
			if kept != all-leftOut || limit >= 1000 && kept == 0 {
				t.Errorf("%d files, limit %d: %d addresses, %d left out of %d", files, limit, kept, leftOut, all)
			}
			if has := names.of(&Mapping{Kind: mapping.User, File: dump.path, PID: 1}) != nil; has != (len(names.code(1, dump.path)) == len(code)) {
				t.Errorf("%d files, limit %d: names of a dump %v, and %d of its functions", files, limit, has, len(names.code(1, dump.path)))
			}
		}
	}
	if b, leftOut := NewKeptNames().AppendTo(nil, 0); b != nil || leftOut > 0 {
		t.Errorf("no names are %q", b)
	}
	if _, err := DecodeNames([]byte{99}); err == nil || errors.Is(err, errNames) {
		t.Errorf("a later version: %v", err)
	}
	b, _ := kept().AppendTo(nil, 1<<20)
	for kind := range 128 {
		b[2] = byte(kind) // of the first file
		if _, err := DecodeNames(b); (err == nil) != (kind == int(mapping.User) || kind == int(mapping.VDSO) || kind == int(mapping.Anon)) {
			t.Errorf("names of kind %v: %v", Kind(kind), err)
		}
	}
}

// repeated are names of n addresses, each of which has one frame with a long name so often.
func repeated(n, often int) []byte {
	name := "_Z8000" + strings.Repeat("b", 8000) + "@plt"
	e := namesEncoder{b: []byte{namesVersion}, texts: map[string]uint64{}, frames: map[Frame]uint64{}}
	e.uint(1)
	e.uint(uint64(mapping.User))
	e.uint(0)
	e.text("/a")
	e.text("ab")
	for range 5 {
		e.uint(0)
	}
	e.uint(uint64(n))
	for range n {
		e.uint(16)
		e.uint(uint64(often))
		for range often {
			e.frame(Frame{Name: "demangled", SystemName: name})
		}
	}
	e.uint(0)
	e.uint(0)
	return e.b
}

// TestNamesRepeated: a few bytes may mention a long name often. It is made readable once;
// and an address that makes every stack long is refused.
func TestNamesRepeated(t *testing.T) {
	if _, err := DecodeNames(repeated(1, maxFrames+1)); !errors.Is(err, errNames) {
		t.Errorf("an address with %d frames: %v", maxFrames+1, err)
	}
	names, err := DecodeNames(repeated(100, maxFrames))
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{Foreign: true, Recorded: names})
	defer s.Close()
	m := Mapping{Kind: mapping.User, File: "/a", BuildID: "ab"}
	addrs := names.of(&m).addrs
	within := memtest.Within(t, 8<<20) // 2.5 MB of frames, 4.2 under the race detector
	frames, err := s.Resolve(context.Background(), m, addrs)
	within()
	if err != nil || len(frames[99]) != maxFrames || !strings.HasSuffix(frames[99][0].Name, "b@plt") {
		t.Errorf("%v: %d frames", err, len(frames[99]))
	}
	// What is found elsewhere may be more: the function itself is kept.
	kept := NewKeptNames()
	long := slices.Repeat([]Frame{{Name: "inlined", SystemName: "inlined"}}, maxFrames+5)
	long = append(long, Frame{Name: "function", SystemName: "function"})
	kept.keep(&m, []uint64{1}, [][]Frame{long}, nil)
	b, _ := kept.AppendTo(nil, 1<<20)
	if names, err = DecodeNames(b); err != nil {
		t.Fatal(err)
	}
	if f := names.of(&m); len(f.frames) != maxFrames || names.frames[f.frames[maxFrames-1]].Name != "function" {
		t.Errorf("%d frames are kept", len(f.frames))
	}
}

// FuzzDecodeNames: names may be anybody's.
func FuzzDecodeNames(f *testing.F) {
	fuzztest.Add(f)
	b, _ := kept().AppendTo(nil, 1<<20)
	f.Add(b)
	f.Add(repeated(1, maxFrames))
	f.Add(repeated(100, maxFrames))
	f.Fuzz(func(t *testing.T, b []byte) {
		defer memtest.Within(t, 1<<20+500*len(b))()
		names, err := DecodeNames(b)
		if err != nil {
			return
		}
		s := New(Options{Foreign: true, Recorded: names})
		defer s.Close()
		for k, file := range names.files {
			m := Mapping{Kind: k.kind, File: k.file, ID: k.id, BuildID: k.buildID, PID: k.pid}
			frames, err := s.Resolve(context.Background(), m, file.addrs)
			if err == nil && len(frames) != len(file.addrs) {
				t.Errorf("%d frames of %d addresses", len(frames), len(file.addrs))
			}
			s.CallFrames(m)
		}
	})
}
