// Package perftext assembles small recordings from text, for tests.
//
// A recording is text with one record a line: a word, fields as key=value, and
// bare words for flags. Values are numbers in Go's syntax, words, or Go string
// literals. What stands behind # is a comment.
//
//	event cpu-clock type=software config=0 period=1 ids=1,2 sample=ip,tid,time,callchain flags=sample_id_all
//	mmap   t=10 pid=100 addr=0x400000 len=0x1000 off=0 file=/bin/a
//	mmap2  t=10 pid=100 addr=0x400000 len=0x1000 off=0 file=/bin/a ino=7    (or buildid=0123…)
//	comm   t=10 pid=100 tid=101 comm="a b" exec
//	fork   t=10 pid=101 ppid=100 tid=101 ptid=100
//	exit   t=10 pid=101 ppid=100
//	ksymbol t=10 addr=0xffffffffc0000000 len=0x100 name=bpf_prog_1 unregister
//	lost   t=10 count=3
//	lost_samples t=10 count=3
//	throttle t=10
//	unthrottle t=10
//	sample t=10 pid=100 tid=101 cpu=0 id=1 period=1 ip=0x400010 kernel 0x… user 0x400010 0x400020
//	sample t=10 pid=100 reads=1:500,2:7 branches=0x400020>0x400010,0x400040>0x400018 user 0x400010
//	callchain_deferred t=10 pid=100 cookie=7 0x400010
//	switch t=11 pid=100 cpu=1 out preempt    out and preempt where it leaves and wants to run
//	thread_map pids=7,8                what perf recorded, -1 where that was CPUs
//	round                              FINISHED_ROUND
//	record type=200 misc=0 data=0011   any record, with its payload in hex
//	raw 0011aa                         bytes that are no record
//	buildid id=0123 file=/bin/a misc=user    in the header, or in pipe mode a record
//	truncate 5                         bytes to leave out at the end
//
// An event's read= says what its samples with read say of counters (enabled,
// running, id, group, lost), branch= what those with branch_stack have
// (call_stack, hw_index, counters). reads are ids with values.
//
// t is the time in ns, id one of the first event's if it is not given. A sample
// without ip has its first address, and one without misc the mode of its first
// context. size= makes any record lie about its size.
package perftext

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// Recording is a parsed text.
type Recording struct {
	Events   []abi.Event
	BuildIDs []perfdata.BuildID
	Features perfdata.Features // of a file's header, besides Events and BuildIDs

	attrSizes []int // 0: as abi writes it
	records   []record
	truncate  int
}

// record is a record whose bytes depend on the byte order still.
type record struct {
	raw    bool // bytes that are no record
	typ    abi.RecordType
	misc   abi.Misc
	size   int // in the header; -1: the right one
	event  int // whose layout it has
	id     abi.SampleIDFields
	kernel bool // has a sample id at its end
	body   func(b []byte, o abi.Order) []byte
}

// Parse reads a text. Errors tell the line.
func Parse(text string) (*Recording, error) {
	r := &Recording{}
	n := 0
	for line := range strings.Lines(text) {
		n++
		words, err := split(line)
		if err == nil && len(words) > 0 {
			err = r.line(words)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return r, nil
}

// split cuts a line at blanks that are not in a string literal.
func split(line string) (words []string, err error) {
	for {
		line = strings.TrimLeft(line, " \t\r\n")
		if line == "" || line[0] == '#' {
			return words, nil
		}
		n := strings.IndexAny(line, " \t\r\n\"")
		if n >= 0 && line[n] == '"' {
			q, err := strconv.QuotedPrefix(line[n:])
			if err != nil {
				return nil, fmt.Errorf("string literal %s: %w", line[n:], err)
			}
			n += len(q)
		} else if n < 0 {
			n = len(line)
		}
		words = append(words, line[:n])
		line = line[n:]
	}
}

// fields are the words of a line. Each is taken at most once; done tells of
// those that nobody took.
type fields struct {
	values map[string]string
	flags  []string
	err    error
}

func newFields(words []string) *fields {
	f := &fields{values: map[string]string{}}
	for _, w := range words {
		k, v, ok := strings.Cut(w, "=")
		if !ok {
			f.flags = append(f.flags, w)
			continue
		}
		if strings.HasPrefix(v, `"`) {
			u, err := strconv.Unquote(v)
			if err != nil {
				f.fail("%s: %w", w, err)
			}
			v = u
		}
		if _, twice := f.values[k]; twice {
			f.fail("%s is given twice", k)
		}
		f.values[k] = v
	}
	return f
}

func (f *fields) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}

func (f *fields) str(key, def string) string {
	if v, ok := f.values[key]; ok {
		delete(f.values, key)
		return v
	}
	return def
}

func (f *fields) has(key string) bool {
	_, ok := f.values[key]
	return ok
}

// num takes a number; negative ones are meant in two's complement.
func (f *fields) num(key string, def uint64) uint64 {
	v := f.str(key, "")
	if v == "" {
		return def
	}
	return f.parse(v)
}

func (f *fields) parse(v string) uint64 {
	if strings.HasPrefix(v, "-") {
		n, err := strconv.ParseInt(v, 0, 64)
		if err != nil {
			f.fail("%w", err)
		}
		return uint64(n)
	}
	n, err := strconv.ParseUint(v, 0, 64)
	if err != nil {
		f.fail("%w", err)
	}
	return n
}

func (f *fields) hex(key string) []byte {
	b, err := hex.DecodeString(f.str(key, ""))
	if err != nil {
		f.fail("%s: %w", key, err)
	}
	return b
}

// names takes a list of names and returns the bits that table gives them.
func (f *fields) names(key, def string, table []string) (bits uint64) {
	for _, name := range strings.Split(f.str(key, def), ",") {
		if name == "" {
			continue
		}
		bits |= f.bit(key, name, table)
	}
	return bits
}

func (f *fields) bit(key, name string, table []string) uint64 {
	for i, n := range table {
		if n == name {
			return 1 << i
		}
	}
	f.fail("%s: no %q", key, name)
	return 0
}

// flag takes a bare word.
func (f *fields) flag(word string) bool {
	for i, w := range f.flags {
		if w == word {
			f.flags = append(f.flags[:i:i], f.flags[i+1:]...)
			return true
		}
	}
	return false
}

func (f *fields) done() error {
	for k := range f.values {
		f.fail("unknown field %q", k)
	}
	for _, w := range f.flags {
		f.fail("unknown word %q", w)
	}
	return f.err
}
