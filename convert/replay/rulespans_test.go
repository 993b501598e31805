package replay

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"kprof/convert/payload"
	"kprof/convert/span"
	"kprof/convert/stacks"
	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
	"kprof/perfevent/perfdata/perftext"
	"kprof/perfevent/spanrule"
)

// callFormats are those of the entry and the exit of a system call, and of a function's
// probes.
func callFormats(o abi.Order) *perfdata.TracingData {
	const pid, field = "int common_pid;\toffset:4;\tsize:4;\tsigned:1;", "long %s;\toffset:%d;\tsize:8;\tsigned:1;"
	return tracingData(o,
		tracepoint("raw_syscalls", "sys_enter", 1, pid, "", fmt.Sprintf(field, "id", 8)),
		tracepoint("raw_syscalls", "sys_exit", 2, pid, "", fmt.Sprintf(field, "id", 8), fmt.Sprintf(field, "ret", 16)),
		tracepoint("kprof_1", "f", 3, pid, "", fmt.Sprintf(field, "kprof_sp", 8)),
		tracepoint("kprof_1", "f_2", 4, pid, "", fmt.Sprintf(field, "kprof_sp", 8), fmt.Sprintf(field, "ret", 16)),
	)
}

// tracepoint is one with these fields behind common_type.
func tracepoint(system, name string, id uint64, fields ...string) perfdata.Tracepoint {
	text := fmt.Sprintf("name: %s\nID: %d\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n", name, id)
	for _, f := range fields {
		if f != "" { // a line between those of all events and its own
			text += "\tfield:" + f
		}
		text += "\n"
	}
	return perfdata.Tracepoint{System: system, Name: name, ID: id, Format: text + "\nprint fmt: \"\"\n"}
}

func tracingData(o abi.Order, tracepoints ...perfdata.Tracepoint) *perfdata.TracingData {
	return &perfdata.TracingData{Version: "0.6", Order: o, LongSize: 8, PageSize: 4096, HeaderPage: "\n", HeaderEvent: "\n", Tracepoints: tracepoints}
}

// calls writes the samples of a recording of these.
type calls struct {
	strings.Builder
	o abi.Order
}

func newCalls(o abi.Order) *calls {
	c := &calls{o: o}
	for i, name := range []string{"raw_syscalls:sys_enter", "raw_syscalls:sys_exit", "kprobe:f", "kretprobe:f"} {
		fmt.Fprintf(c, "event %s type=tracepoint config=%d period=1 ids=%d sample=ip,tid,time,callchain,cpu,identifier,raw flags=sample_id_all\n", name, i+1, i+1)
	}
	c.WriteString("event cpu-clock type=software config=0 period=1 ids=5 sample=ip,tid,time,callchain,cpu,identifier flags=sample_id_all\ncomm t=1 pid=7 comm=seven\ncomm t=1 pid=8 comm=eight\n")
	return c
}

// hit is a sample of the event of an id; the tid of the header is that of a namespace.
func (c *calls) hit(t, cpu, pid, id int, fields ...int64) {
	b := c.o.AppendUint32(nil, 0)
	b = c.o.AppendUint32(b, uint32(pid+1000))
	for _, f := range fields {
		b = c.o.AppendUint64(b, uint64(f))
	}
	fmt.Fprintf(c, "sample t=%d pid=%d cpu=%d id=%d raw=%x kernel %#x\n", t, pid, cpu, id, b, 0xffffffff81000000+uint64(t))
}

func (c *calls) recording() *perftext.Recording {
	rec := perftext.MustParse(c.String())
	rec.Features.TracingData = callFormats(c.o).AppendTo(nil)
	rec.Features.Host.Arch = "x86_64"
	return rec
}

// syscallRecording: task 7 reads on CPU 0 and returns on CPU 1, whose records come first;
// a signal's handler returns; task 8 waits and does not come back; the last call of 7 ends it.
func syscallRecording(o abi.Order) *calls {
	c := newCalls(o)
	c.hit(5, 1, 9, 2, 0, 1)    // its start was before
	c.hit(30, 1, 7, 2, 0, 512) // read
	c.hit(40, 1, 7, 1, 257)    // openat
	c.hit(47, 1, 7, 2, 257, -2)
	c.hit(90, 1, 7, 1, 231) // exit_group
	c.hit(10, 0, 7, 1, 0)   // read
	c.hit(50, 0, 7, 1, 15)  // rt_sigreturn
	c.hit(53, 0, 7, 2, -1, 0)
	c.hit(60, 0, 8, 1, 202) // futex
	c.WriteString("sample t=95 pid=8 cpu=0 id=5 kernel 0xffffffff81000009\n")
	c.hit(100, 0, 7, 1, 0)
	c.hit(101, 0, 7, 2, 0, 1)
	return c
}

// TestEachSyscall: calls are paired by the events that each has of its own, too, by their number,
// which kernels before 4.6 call otherwise; what has another event or number at its end is another call.
func TestEachSyscall(t *testing.T) {
	const pid, nr, ret = "int common_pid;\toffset:4;\tsize:4;\tsigned:1;", "int %s;\toffset:8;\tsize:4;\tsigned:1;", "long ret;\toffset:16;\tsize:8;\tsigned:1;"
	for _, number := range []string{"__syscall_nr", "nr"} {
		c := &calls{o: abi.LittleEndian}
		formats := tracingData(c.o)
		for i, name := range []string{"sys_enter_read", "sys_exit_read", "sys_enter_openat", "sys_exit_openat"} {
			fmt.Fprintf(c, "event syscalls:%s type=tracepoint config=%d period=1 ids=%d sample=ip,tid,time,callchain,cpu,identifier,raw flags=sample_id_all\n", name, i+1, i+1)
			formats.Tracepoints = append(formats.Tracepoints, tracepoint("syscalls", name, uint64(i+1), pid, "", fmt.Sprintf(nr, number), ret))
		}
		c.hit(10, 0, 7, 1, 0)
		c.hit(12, 0, 8, 3, 257)
		c.hit(15, 1, 8, 4, 257, -2)
		c.hit(30, 1, 7, 2, 0, 512)
		c.hit(40, 0, 7, 1, 0)
		c.hit(41, 0, 7, 4, 257, 3) // of a call whose beginning was lost
		c.hit(50, 0, 7, 2, 0, 1)
		rec := perftext.MustParse(c.String())
		rec.Features.TracingData, rec.Features.Host.Arch = formats.AppendTo(nil), "x86_64"
		for rules, want := range map[string]string{
			"span:syscalls":      "span:syscalls 0x28 :7,read [1 0 0 10]\nspan:syscalls 0xa :7,read [1 0 0 20]\nspan:syscalls 0xc :8,openat,ENOENT [1 0 0 3]",
			"span:syscalls:read": "span:syscalls:read 0x28 :7,read [1 0 0 10]\nspan:syscalls:read 0xa :7,read [1 0 0 20]",
		} {
			opts := Options{Selection: Selection{Spans: mustRules(t, rules)}}
			live := opts
			live.Formats, live.Machine = payload.New(formats), "x86_64"
			eachWay(t, rec, c.o, opts, live, func(way string, s *stacks.Set, st Stats, err error) {
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.Join(spanRows(s), "\n"); got != want {
					t.Errorf("%s, %s: got\n%s\nwant\n%s", number, way, got, want)
				}
			})
		}
	}
}

func mustRules(t testing.TB, texts ...string) (rules []*spanrule.Rule) {
	t.Helper()
	for _, text := range texts {
		r, err := spanrule.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, r)
	}
	return rules
}

// spanRows are the rows of a Set in a line each: event, leaf, task, labels, values.
func spanRows(s *stacks.Set) (rows []string) {
	for i := range s.NumSamples() {
		x := s.Sample(i)
		var labels []string
		for _, l := range s.Labels(x.Labels) {
			if l.Key != "pid" {
				labels = append(labels, fmt.Sprint(l.Str))
			}
		}
		rows = append(rows, fmt.Sprintf("%s %#x %s %v", s.Events[x.Event].Name, s.Locations[s.Stack(x.Stack)[0]].Addr&0xffff, strings.Join(labels, ","), x.Values))
	}
	slices.Sort(rows)
	return rows
}

// allWays converts a recording as a file, through a pipe and live.
func allWays(t *testing.T, c *calls, opts Options, check func(way string, s *stacks.Set, st Stats, err error)) {
	t.Helper()
	live := opts
	live.Formats, live.Machine = payload.New(callFormats(c.o)), "x86_64"
	eachWay(t, c.recording(), c.o, opts, live, check)
}

// eachWay converts a recording as a file, through a pipe and live.
func eachWay(t *testing.T, rec *perftext.Recording, o abi.Order, opts, live Options, check func(way string, s *stacks.Set, st Stats, err error)) {
	t.Helper()
	for _, f := range []perftext.Form{{Order: o}, {Order: o, Pipe: true}} {
		whole, err := rec.Assemble(f)
		if err != nil {
			t.Fatal(err)
		}
		s, st, err := convertBytes(whole, f.Pipe, opts)
		check(f.String(), s, st, err)
	}
	s, st, err := convertLive(rec, o, live)
	check("live", s, st, err)
}

func TestSyscallSpans(t *testing.T) {
	for _, o := range []abi.Order{abi.LittleEndian, abi.BigEndian} {
		for _, tc := range []struct {
			name  string
			opts  Options
			want  []string
			stats span.Stats
		}{
			{"all", Options{Selection: Selection{Spans: mustRules(t, "span:syscalls")}}, []string{
				"span:syscalls 0x28 seven,openat,ENOENT [1 0 0 7]",
				"span:syscalls 0x32 seven,rt_sigreturn [1 0 0 3]",
				"span:syscalls 0x3c eight,futex,yes [0 1 41 0]",
				"span:syscalls 0x64 seven,read [1 0 0 1]",
				"span:syscalls 0xa seven,read [1 0 0 20]",
			}, span.Stats{Ended: 4, Open: 1, Unbegun: 1}},
			{"one call", Options{Selection: Selection{Spans: mustRules(t, "span:syscalls:openat,futex")}}, []string{
				"span:syscalls:openat,futex 0x28 seven,openat,ENOENT [1 0 0 7]",
				"span:syscalls:openat,futex 0x3c eight,futex,yes [0 1 41 0]",
			}, span.Stats{Ended: 1, Open: 1, Unbegun: 1, Refused: 3}},
			{"by its end", Options{Selection: Selection{Spans: mustRules(t, "span:syscalls"), Where: mustExpr(t, "ret < 0")}}, []string{
				"span:syscalls 0x28 seven,openat,ENOENT [1 0 0 7]",
			}, span.Stats{Ended: 1, Unbegun: 1, Refused: 4}},
			{"by either end", Options{Selection: Selection{Spans: mustRules(t, "span:syscalls"), Where: mustExpr(t, "comm == 'seven' && id == 0"), SlowerThan: 2}}, []string{
				"span:syscalls 0xa seven,read [1 0 0 20]",
			}, span.Stats{Ended: 2, Unbegun: 1, Refused: 3}},
			{"selected by when they began", Options{Selection: Selection{Spans: mustRules(t, "span:syscalls"), FieldLabels: []string{"ret"}}, From: 40, To: 59}, []string{
				"span:syscalls 0x28 seven,openat,ENOENT,ENOENT [1 0 0 7]",
				"span:syscalls 0x32 seven,rt_sigreturn, [1 0 0 3]",
			}, span.Stats{Ended: 2, Unbegun: 1, Refused: 3}},
			{"a rule of one's own", Options{Selection: Selection{Spans: mustRules(t, "span:raw_syscalls:sys_enter..raw_syscalls:sys_exit by common_pid, id")}}, []string{
				"span:raw_syscalls:sys_enter..raw_syscalls:sys_exit by common_pid, id 0x28 seven [1 0 0 7]",
				"span:raw_syscalls:sys_enter..raw_syscalls:sys_exit by common_pid, id 0x32 seven,yes [0 1 51 0]",
				"span:raw_syscalls:sys_enter..raw_syscalls:sys_exit by common_pid, id 0x3c eight,yes [0 1 41 0]",
				"span:raw_syscalls:sys_enter..raw_syscalls:sys_exit by common_pid, id 0x5a seven,yes [0 1 11 0]",
				"span:raw_syscalls:sys_enter..raw_syscalls:sys_exit by common_pid, id 0x64 seven [1 0 0 1]",
				"span:raw_syscalls:sys_enter..raw_syscalls:sys_exit by common_pid, id 0xa seven [1 0 0 20]",
			}, span.Stats{Ended: 3, Open: 3, Unbegun: 2}},
		} {
			tc.opts.Times = true
			allWays(t, syscallRecording(o), tc.opts, func(way string, s *stacks.Set, st Stats, err error) {
				if err != nil {
					t.Fatalf("%s, %s: %v", tc.name, way, err)
				}
				if got := spanRows(s); !slices.Equal(got, tc.want) || len(st.Spans) != 1 || st.Spans[0].Stats != tc.stats {
					t.Errorf("%s, %s:\n%s\nwant\n%s\n%+v", tc.name, way, strings.Join(got, "\n"), strings.Join(tc.want, "\n"), st.Spans)
				}
				var durations, timed uint64
				for _, d := range st.Durations {
					durations += d.Sum
				}
				total := uint64(s.Totals(0)[3])
				for _, x := range s.TimedSamples {
					timed += uint64(x.Value)
				}
				if durations != total || timed != total+uint64(s.Totals(0)[2]) || s.DefaultType != tc.opts.Spans[0].Name {
					t.Errorf("%s, %s: %d in distributions, %d timed, of %v; %s", tc.name, way, durations, timed, s.Totals(0), s.DefaultType)
				}
			})
		}
	}
}

// TestTook labels each time with the power of two that it is in.
func TestTook(t *testing.T) {
	for _, labels := range []Labels{0, LabelTook} {
		opts := Options{Selection: Selection{Spans: mustRules(t, "span:syscalls"), Labels: labels}}
		allWays(t, syscallRecording(abi.LittleEndian), opts, func(way string, s *stacks.Set, _ Stats, err error) {
			if err != nil {
				t.Fatal(err)
			}
			var all []string
			for i := range s.NumSamples() {
				x := s.Sample(i)
				if l, ok := s.Label(x.Labels, TookLabel); ok {
					all = append(all, fmt.Sprint(x.Values, l.Num, l.Unit))
				}
			}
			slices.Sort(all)
			var want []string
			if labels == LabelTook {
				want = []string{"[0 1 41 0] 32nanoseconds", "[1 0 0 1] 1nanoseconds", "[1 0 0 20] 16nanoseconds", "[1 0 0 3] 2nanoseconds", "[1 0 0 7] 4nanoseconds"}
			}
			if !slices.Equal(all, want) {
				t.Errorf("%s: %q, want %q", way, all, want)
			}
		})
	}
}

// TestFunctionSpans: a function that calls itself, one return of which is missed, on the
// stacks of two tasks, beside a clock.
func TestFunctionSpans(t *testing.T) {
	c := newCalls(abi.LittleEndian)
	c.hit(10, 0, 7, 3, 0x9000)
	c.hit(11, 1, 8, 3, 0x9000)
	c.hit(12, 0, 7, 3, 0x8f00)
	c.hit(13, 0, 7, 3, 0x8e00)
	c.hit(20, 0, 7, 4, 0x8e08, 5)
	c.hit(30, 0, 7, 4, 0x9008, 6) // that of the second was missed
	c.hit(31, 1, 8, 4, 0x9008, 7)
	c.WriteString("sample t=95 pid=8 cpu=0 id=5 kernel 0xffffffff81000009\n")
	allWays(t, c, Options{Selection: Selection{Spans: mustRules(t, "span:f", "span:syscalls"), FieldLabels: []string{"ret"}}}, func(way string, s *stacks.Set, st Stats, err error) {
		if err != nil {
			t.Fatalf("%s: %v", way, err)
		}
		want := []string{"span:f 0xa seven, [1 0 0 20]", "span:f 0xb eight, [1 0 0 20]", "span:f 0xd seven, [1 0 0 7]"}
		if got := spanRows(s); !slices.Equal(got, want) || st.Spans[0].Stats != (span.Stats{Ended: 3, Unended: 1}) {
			t.Errorf("%s: %q, want %q, %+v", way, got, want, st.Spans)
		}
		// The name of the rule is before the columns of each of several.
		if got := fmt.Sprint(s.Events[0].Values, s.Events[1].Values[3]); got != "[{span:f.spans count} {span:f.open count} {span:f.unended nanoseconds} {span:f nanoseconds}] {span:syscalls nanoseconds}" {
			t.Errorf("%s: %s", way, got)
		}
	})
	allWays(t, c, Options{Selection: Selection{Spans: mustRules(t, "span:*"), Beside: true}}, func(way string, s *stacks.Set, st Stats, err error) {
		want := []string{"cpu-clock 0x9 eight [1 1]", "span:* 0xa seven [1 0 0 20]", "span:* 0xb eight [1 0 0 20]", "span:* 0xd seven [1 0 0 7]"}
		if got := spanRows(s); err != nil || !slices.Equal(got, want) || st.Durations[0].Event != 1 {
			t.Errorf("%s: %q %v, want %q", way, got, err, want)
		}
	})
}

// TestSpansLost: what was open where records are missing is told as no time.
func TestSpansLost(t *testing.T) {
	c := newCalls(abi.LittleEndian)
	c.hit(10, 0, 7, 1, 0)
	c.hit(11, 1, 8, 1, 0)
	c.hit(12, 0, 7, 2, 0, 1)
	c.WriteString("lost t=20 cpu=0 pid=7 id=1 count=3\n")
	c.hit(30, 0, 7, 1, 0)
	c.hit(31, 0, 7, 2, 0, 1)
	c.hit(40, 1, 8, 2, 0, 1)
	allWays(t, c, Options{Selection: Selection{Spans: mustRules(t, "span:syscalls")}}, func(way string, s *stacks.Set, st Stats, err error) {
		want := []string{"span:syscalls 0x1e seven,read [1 0 0 1]", "span:syscalls 0xa seven,read [1 0 0 2]"}
		if got := spanRows(s); err != nil || !slices.Equal(got, want) || st.Spans[0].Stats != (span.Stats{Ended: 2, Lost: 1}) {
			t.Errorf("%s: %q %v %+v", way, got, err, st.Spans)
		}
	})
}

// TestNoSpans: a recording without the events of a rule, or with some of them only, is
// refused.
func TestNoSpans(t *testing.T) {
	for text, missing := range map[string]string{
		"span:block":                       "block:block_io_start,block:block_io_done,block:block_rq_issue,block:block_rq_complete",
		"span:raw_syscalls:sys_enter..a:b": "a:b",
		"span:vfs_*":                       "kprobe:vfs_*,kretprobe:vfs_*",
		"span:raw_syscalls:sys_enter..cpu-clock by nothing": "",
	} {
		allWays(t, syscallRecording(abi.LittleEndian), Options{Selection: Selection{Spans: mustRules(t, text)}}, func(way string, s *stacks.Set, st Stats, err error) {
			var no *NoSpanEventsError
			if errors.As(err, &no) != (missing != "") || err == nil || no != nil && strings.Join(no.Missing, ",") != missing {
				t.Errorf("%s, %s: %v", text, way, err)
			}
		})
	}
	allWays(t, syscallRecording(abi.LittleEndian), Options{Selection: Selection{Spans: mustRules(t, "span:sys_enter..sys_exit")}}, func(way string, s *stacks.Set, st Stats, err error) {
		var no *NoSpanEventsError
		if !errors.As(err, &no) || strings.Join(no.Missing, ",") != "sys_enter,sys_exit" || strings.Join(no.Whole, ",") != "raw_syscalls:sys_enter,raw_syscalls:sys_exit" {
			t.Errorf("without systems, %s: %v", way, err)
		}
	})
	c := newCalls(abi.LittleEndian)
	c.hit(10, 0, 7, 1, 0)
	rec := perftext.MustParse(strings.Replace(c.String(), "period=1 ids=1 ", "period=5 ids=1 ", 1))
	rec.Features.TracingData = callFormats(c.o).AppendTo(nil)
	whole, err := rec.Assemble(perftext.Form{})
	if err != nil {
		t.Fatal(err)
	}
	var no *NoSpanEventsError
	if _, _, err := convertBytes(whole, false, Options{Selection: Selection{Spans: mustRules(t, "span:syscalls")}}); !errors.As(err, &no) || no.Sampled != "raw_syscalls:sys_enter" {
		t.Errorf("some of the calls: %v", err)
	}
}

// TestHeld: of what kmalloc gave, all is in the first two columns, and in the last two what
// kfree has not taken back, whoever did. A pointer that is given again was freed unseen.
func TestHeld(t *testing.T) {
	text := `event kmem:kmalloc type=tracepoint config=1 period=1 ids=1 sample=ip,tid,time,callchain,cpu,identifier,raw flags=sample_id_all
event kmem:kfree type=tracepoint config=2 period=1 ids=2 sample=ip,tid,time,callchain,cpu,identifier,raw flags=sample_id_all
comm t=1 pid=7 comm=seven
`
	hit := func(at, pid, id int, ptr, size, ip uint64) {
		o := abi.LittleEndian
		raw := o.AppendUint64(o.AppendUint64(o.AppendUint64(nil, 0), ptr), size)
		text += fmt.Sprintf("sample t=%d pid=%d id=%d raw=%x kernel %#x\n", at, pid, id, raw, 0xffffffff81000000+ip)
	}
	hit(10, 7, 1, 0x1000, 64, 0xa)
	hit(11, 7, 1, 0x2000, 96, 0xa)
	hit(12, 7, 1, 0x3000, 32, 0xb)
	hit(13, 8, 2, 0x1000, 0, 0xc)
	hit(14, 7, 2, 0, 0, 0xc)      // kfree(NULL)
	hit(15, 7, 2, 0x9000, 0, 0xc) // from before the recording
	hit(20, 7, 1, 0x3000, 16, 0xb)
	hit(30, 7, 1, 0x4000, 8, 0xb)
	formats := &perfdata.TracingData{Version: "0.6", Order: abi.LittleEndian, LongSize: 8, PageSize: 4096, HeaderPage: "\n", HeaderEvent: "\n"}
	for i, name := range []string{"kmalloc", "kfree"} {
		formats.Tracepoints = append(formats.Tracepoints, perfdata.Tracepoint{System: "kmem", Name: name, ID: uint64(i + 1), Format: fmt.Sprintf("name: %s\nID: %d\nformat:\n"+
			"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"+
			"\tfield:const void * ptr;\toffset:8;\tsize:8;\tsigned:0;\n\tfield:size_t bytes_alloc;\toffset:16;\tsize:8;\tsigned:0;\n\nprint fmt: \"\"\n", name, i+1)})
	}
	for _, tc := range []struct {
		slower uint64
		want   []string
	}{
		{0, []string{"span:kmalloc 0xa seven [2 160 1 96]", "span:kmalloc 0xb seven [3 56 2 24]"}},
		{15, []string{"span:kmalloc 0xa seven [1 96 1 96]"}},
	} {
		rec := perftext.MustParse(text)
		rec.Features.TracingData = formats.AppendTo(nil)
		for _, f := range []perftext.Form{{}, {Pipe: true}} {
			whole, err := rec.Assemble(f)
			if err != nil {
				t.Fatal(err)
			}
			s, st, err := convertBytes(whole, f.Pipe, Options{Selection: Selection{Spans: mustRules(t, "span:kmalloc"), SlowerThan: tc.slower}})
			if err != nil {
				t.Fatal(err)
			}
			if got := spanRows(s); !slices.Equal(got, tc.want) || s.DefaultType != "inuse_space" {
				t.Errorf("%v: %q, want %q; %s", f, got, tc.want, s.DefaultType)
			}
			if want := (span.Stats{Ended: 1, Unended: 1, Unbegun: 1}); st.Spans[0].Stats != want {
				t.Errorf("%v: %+v", f, st.Spans[0])
			}
		}
	}
}

// TestTakeTimes: times that are taken while they end, and those that are left, are those of the whole
// recording, each once and with its own labels; what is taken is as it ended.
func TestTakeTimes(t *testing.T) {
	const order = abi.LittleEndian
	c := syscallRecording(order)
	c.WriteString("round\n")
	c.hit(200, 0, 7, 1, 1)
	c.hit(210, 1, 9, 1, 0)
	c.WriteString("round\n")
	c.hit(220, 1, 9, 2, 0, 4)
	c.hit(230, 0, 7, 2, 1, 4)
	c.WriteString("round\n")
	c.hit(300, 0, 7, 1, 3)
	c.WriteString("round\n")
	c.hit(310, 0, 7, 2, 3, 0)
	opts := Options{Selection: Selection{Spans: mustRules(t, "span:syscalls"), Times: true, Labels: LabelTID, Formats: payload.New(callFormats(order))}, Machine: "x86_64"}
	text := func(s *stacks.Set, list []stacks.TimedSample) (lines []string) {
		for _, x := range list {
			row := s.Sample(int(x.Sample))
			lines = append(lines, fmt.Sprintf("%d %d %#x %v", x.Time, x.Value, s.Locations[s.Stack(row.Stack)[0]].Addr, s.Labels(row.Labels)))
		}
		return lines
	}
	rec := c.recording()
	whole, _, err := convertLive(rec, order, opts)
	if err != nil {
		t.Fatal(err)
	}
	want := text(whole, whole.TimedSamples)

	live := NewCollector(order, rec.Events, opts)
	var got []string
	var taken []int
	for _, b := range rec.Records(order) {
		if err := errors.Join(live.Write(b, nil), live.FinishRound()); err != nil {
			t.Fatal(err)
		}
		now := text(live.TakeTimes())
		got, taken = append(got, now...), append(taken, len(now))
	}
	if len(got) != 6 || !strings.HasPrefix(got[4], "210 10 ") || !strings.HasPrefix(got[5], "200 30 ") {
		t.Errorf("taken in rounds %v: %q", taken, got)
	}
	s, st, err := live.Finish()
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, text(s, s.TimedSamples)...)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if st.Spans[0].Ended != 7 || st.Spans[0].Open != 1 {
		t.Errorf("%+v", st.Spans[0])
	}
}
