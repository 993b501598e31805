// Package stackstest makes Sets for tests of what is written of them.
package stackstest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"kprof/convert/stacks"
)

// CountAndTime are the columns of OneEvent.
var CountAndTime = []stacks.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}

// OneEvent is an event with two columns.
func OneEvent() stacks.Event { return stacks.Event{Name: "cpu-clock", Values: CountAndTime} }

// Frame is a frame as perf script prints it; an empty name is "[unknown]".
type Frame struct{ Name, DSO string }

// Row is a sample of a test: outermost frame last, as perf script has it.
type Row struct {
	Comm   string
	PID    int
	Weight int64
	Frames []Frame
}

// SetOf makes a Set with a location for each frame of each row.
func SetOf(rows []Row) *stacks.Set {
	s := stacks.New(OneEvent())
	mappings := map[string]int32{"[unknown]": stacks.NoMapping}
	for i, r := range rows {
		var chain []uint32
		for _, f := range r.Frames {
			m, ok := mappings[f.DSO]
			if !ok {
				m = s.AddMapping(stacks.Mapping{File: f.DSO})
				mappings[f.DSO] = m
			}
			l := s.AddLocation(m, uint64(i), stacks.KindUser)
			if f.Name != "" {
				s.SetLines(l, stacks.Line{Function: s.AddFunction(stacks.Function{Name: f.Name, SystemName: fmt.Sprint(i % 3)})})
			}
			chain = append(chain, l)
		}
		labels := s.InternLabels([]stacks.Label{{Key: "comm", Str: r.Comm}, {Key: "pid", Num: int64(r.PID)}})
		s.Add(0, s.Intern(chain), labels, r.Weight, 7)
	}
	return s
}

// OddNames are names that the script does something about, and some like them.
var OddNames = []string{
	"", "", "main", "do_syscall_64", "foo(int, char*)", "ns::f(int) const", "operator()", "a::operator->",
	"a::operator->() const", "(anonymous namespace)::f(int)", "ns::(anonymous namespace)::g(int)",
	"x::(anonymous namespace)::y::(anonymous namespace)::z()", "(x)", "()",
	"net/http.(*Client).Do", "main.(*T).f(0x1)", "a.(b).c->d.(e).f", "runtime.mcall", "f.(g)",
	"Ljava/lang/String;::hashCode", "Lorg/mozilla/javascript/MemberBox;.<init>(Ljava/lang/reflect/Method;)V",
	"La;b", "L", "L/", "Interpreter", "RegExp:[&<>\"\\']", "it's", "\"->\"", "a->b->c", "->a", "a->", "a->->b", "a->_[i]",
	"<alloc::vec::Vec<T> as core::fmt::Debug>::fmt", "core::ops::function::FnOnce<fn(u8) -> u8>::call_once{{vtable.shim}}",
	"a;b;c", ";", "x y z", "foo.isra.0", "foo.cold", "foo", "fo", "foo+0x12", "naïve", "名前", "[unknown]", "[x]", "_[i]", "a-b", "a>b",
}

var oddFiles = []string{
	"[kernel.kallsyms]", "[vdso]", "[ext4]", "/usr/lib/x86_64-linux-gnu/libc.so.6", "/tmp/perf-12.map",
	"[unknown]", "/memfd:jit (deleted)", "/opt/a b/c", "x", "inode:[1]", "/opt/My App (x86)/run", "/tmp/it's",
}

// OddRows makes n rows of odd names, other ones for each seed.
func OddRows(seed uint64, n int) []Row {
	r := rand.New(rand.NewPCG(seed, 1))
	comms := []string{"bash", "java", "javac", "Java", "kworker/0:1", "swapper", "a b", "x:y", "V8 Worker", "zz\"q'", "ab ", "x(y)"}
	rows := make([]Row, n)
	for i := range rows {
		rows[i] = Row{Comm: comms[r.IntN(len(comms))], PID: r.IntN(3) + 1, Weight: r.Int64N(4) + 1}
		for range r.IntN(4) {
			f := Frame{OddNames[r.IntN(len(OddNames))], oddFiles[r.IntN(len(oddFiles))]}
			if f.Name != "" && strings.Contains(f.DSO, " (") || f.Name == "[unknown]" {
				// The offset becomes part of the name; and a function of that name
				// is none: not to be had from a symbol table.
				f.Name = "main"
				f.DSO = "x"
			}
			rows[i].Frames = append(rows[i].Frames, f)
		}
	}
	return rows
}

// PlainRows are rows with names that pprof does not shorten, and no unnamed ones:
// it tells those apart by other rules.
func PlainRows(seed uint64, n int) []Row {
	rows := OddRows(seed, n)
	for i := range rows {
		for j := range rows[i].Frames {
			rows[i].Frames[j].Name = fmt.Sprintf("f%d", (i*7+j*3)%23)
		}
	}
	return rows
}

// Wide makes n distinct stacks over a number of locations, a third as many names.
func Wide(n, depth, locations int) *stacks.Set {
	r := rand.New(rand.NewPCG(3, 4))
	s := stacks.New(OneEvent())
	k := s.AddMapping(stacks.Mapping{File: "[kernel.kallsyms]", Kind: stacks.KindKernel})
	for i := range locations {
		f := s.AddFunction(stacks.Function{Name: fmt.Sprintf("function_%d", r.IntN(locations/3))})
		s.SetLines(s.AddLocation(k, uint64(i), stacks.KindKernel), stacks.Line{Function: f})
	}
	AddStacks(s, r, n, depth)
	return s
}

// AddStacks adds n distinct stacks of a Set's locations, which share their outer half in groups
// of 16, with 300 lists of labels.
func AddStacks(s *stacks.Set, r *rand.Rand, n, depth int) {
	var labels []stacks.LabelsID
	for i := range 300 {
		labels = append(labels, s.InternLabels([]stacks.Label{{Key: "comm", Str: fmt.Sprintf("worker%d", i%20)}, {Key: "pid", Num: int64(i)}}))
	}
	c := make([]uint32, depth)
	for i := range n {
		for j := range c {
			if i%16 == 0 || j < depth/2 {
				c[j] = r.Uint32N(uint32(len(s.Locations)))
			}
		}
		s.Add(0, s.Intern(c), labels[r.IntN(len(labels))], 1, 10_000_000)
	}
}

// TreeSet has code of each kind, an inlined function, one name at several
// addresses, a sample without frames and one without value.
func TreeSet() *stacks.Set {
	s := stacks.New(OneEvent(), stacks.Event{Name: "other", Values: CountAndTime[:1]})
	add := func(kind stacks.Kind, names ...string) uint32 {
		m := int32(stacks.NoMapping)
		if kind != stacks.KindUnknown {
			m = s.AddMapping(stacks.Mapping{File: "/lib/x.so", Kind: kind})
		}
		l := s.AddLocation(m, uint64(len(s.Locations)), kind)
		var lines []stacks.Line
		for _, n := range names {
			lines = append(lines, stacks.Line{Function: s.AddFunction(stacks.Function{Name: n})})
		}
		s.SetLines(l, lines...)
		return l
	}
	main1, main2 := add(stacks.KindUser, "main"), add(stacks.KindUser, "main")
	work := add(stacks.KindUser, "tiny", "work") // tiny inlined into work
	jit, bpf, module := add(stacks.KindAnon, "jitted"), add(stacks.KindBPF, "bpf_prog"), add(stacks.KindModule, "ext4_read")
	kernel, guest, vdso := add(stacks.KindKernel, "vfs_read"), add(stacks.KindGuest, "guest"), add(stacks.KindVDSO, "clock")
	nowhere, annotated, unnamed := add(stacks.KindUnknown, "folded"), add(stacks.KindUnknown, "folded_[k]"), add(stacks.KindUser)

	a := s.InternLabels([]stacks.Label{{Key: "comm", Str: "a"}, {Key: "pid", Num: 1}})
	a2 := s.InternLabels([]stacks.Label{{Key: "comm", Str: "a"}, {Key: "pid", Num: 2}})
	row := func(labels stacks.LabelsID, value int64, outermostFirst ...uint32) {
		slices.Reverse(outermostFirst)
		s.Add(0, s.Intern(outermostFirst), labels, value, 100*value)
	}
	row(a, 1, main1, work)
	row(a2, 2, main2, work)
	row(a, 4, main1)
	row(a, 8, main2, kernel, module)
	row(a, 16, main2, kernel, bpf)
	row(a, 32, jit, guest)
	row(a, 64, vdso, nowhere, annotated)
	row(a, 128, main1, unnamed)
	row(a, 256)
	row(0, 512, main1, main2)
	row(a, 0, kernel)
	s.Add(1, s.Intern([]uint32{kernel}), a, 7)
	return s
}

// Hostile are names that would be something else than text if they were not
// written with care.
var Hostile = []string{
	`<script>pwned()</script>`,
	`</script><script>pwned()</script>`,
	`]]><script xmlns="http://www.w3.org/2000/svg">pwned()</script><![CDATA[`,
	`"><img src=x onerror=pwned()>`,
	`' onclick='pwned()`,
	`&lt;&amp;&#x41;`,
	`std::map<std::string, int>::operator[](std::string const&)`,
	`${pwned()}`, "`+pwned()+`", `\u003cb\u003e`, `\`, `"`,
	"naïve_ﬁ_日本語_имя_🔥🔥🔥",
	"a\x00b\x01\x1b[31mred\x7f\x9b\u2028\u2029\u202eevil\ufffe\uffff",
	"broken \xff\xfe utf-8 \xe2\x82",
	"__proto__", "constructor", "",
	strings.Repeat("long<&]]>", 445)[:4000],
}

// Timed gives each sample a time.
func Timed(s *stacks.Set) *stacks.Set {
	for i := range s.NumSamples() {
		s.AddTimedSample(stacks.TimedSample{Time: uint64(1000 * i), Sample: uint32(i), Value: s.Sample(i).Values[0]})
	}
	return s
}

// NewRow makes a row; frames come in pairs of name and file, outermost last.
func NewRow(comm string, pid int, weight int64, frames ...string) Row {
	r := Row{Comm: comm, PID: pid, Weight: weight}
	for ; len(frames) > 1; frames = frames[2:] {
		r.Frames = append(r.Frames, Frame{Name: frames[0], DSO: frames[1]})
	}
	return r
}

// GraphOf makes a Set of samples that wander through functions of each kind:
// stacks of up to 40 frames, of which many share their beginning.
func GraphOf(n int, seed uint64) *stacks.Set {
	r := rand.New(rand.NewPCG(seed, 5))
	s := stacks.New(OneEvent())
	kinds := []stacks.Kind{stacks.KindUser, stacks.KindUser, stacks.KindUser, stacks.KindKernel, stacks.KindKernel,
		stacks.KindModule, stacks.KindBPF, stacks.KindAnon, stacks.KindGuest, stacks.KindUnknown}
	var locations []uint32
	for i := range 60 {
		kind := kinds[i%len(kinds)]
		m := int32(stacks.NoMapping)
		if kind != stacks.KindUnknown {
			m = s.AddMapping(stacks.Mapping{File: "/lib/x.so", Kind: kind})
		}
		l := s.AddLocation(m, uint64(i), kind)
		name := fmt.Sprintf("f%d_%s", i, strings.Repeat("x", r.IntN(30)))
		lines := []stacks.Line{{Function: s.AddFunction(stacks.Function{Name: name})}}
		if i%7 == 0 {
			lines = append([]stacks.Line{{Function: s.AddFunction(stacks.Function{Name: "inline_" + name})}}, lines...)
		}
		s.SetLines(l, lines...)
		locations = append(locations, l)
	}
	var labels []stacks.LabelsID
	for i := range 3 {
		labels = append(labels, s.InternLabels([]stacks.Label{{Key: "comm", Str: fmt.Sprintf("worker/%d", i)}, {Key: "pid", Num: int64(i)}}))
	}
	for range n {
		var chain []uint32
		at := r.IntN(3)
		for range 1 + r.IntN(1+r.IntN(40)) {
			chain = append(chain, locations[at])
			at = (at*7 + 1 + int(math.Abs(r.NormFloat64())*.9)) % len(locations)
		}
		slices.Reverse(chain)
		value := 1 + r.Int64N(9)
		s.Add(0, s.Intern(chain), labels[r.IntN(3)], value, value*250_000)
	}
	return s
}
