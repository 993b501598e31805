// Package kernellog takes lines of the kernel's log apart: what stands before their text,
// written by dmesg, a console, /dev/kmsg or a journal.
package kernellog

import (
	"bytes"
	"strconv"
	"time"

	"kprof/perfevent/lazyregexp"
)

// Line is a line of a log, without what stands before its text.
type Line struct {
	Text  []byte
	At    time.Duration // since the boot, or since the first line with a date
	Timed bool          // there is a time
	TID   int32         // of the thread that printed it, of kernels with PRINTK_CALLER; else 0
}

var (
	// "[    1.234567] ", perhaps with "[    T1] " behind it, which dmesg since util-linux 2.41 has
	// behind a blank, or with what dmesg -d has in it, "[    1.234567 <    0.000012>] ": dmesg,
	// consoles, and journalctl -o short-monotonic, which has the host behind it.
	stamp = lazyregexp.New(`\[ *(\d{1,9})\.(\d{6})(?: <[ \d.]*>)?\](?: ?\[ *([TC])(\d+)\])? ?`)
	// "6,339,5140900,-,caller=T1;text" of /dev/kmsg, in microseconds.
	kmsg = lazyregexp.New(`^\d+,\d+,(\d{1,18}),[^;]*?(?:,caller=T(\d+)[^;]*)?;`)
	// "2024-05-01T10:00:00,123456+02:00 text" of dmesg --time-format iso.
	isoStamp = lazyregexp.New(`^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d),(\d{6})[+-]\d\d:\d\d `)
	// "May 01 10:00:05 host kernel: text" of journalctl, and "[Wed May  1 10:00:05 2024] text" of
	// dmesg -T, whose times are no finer than a second and may go back.
	dated = lazyregexp.New(`^(?:(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?|\d{4}-\d\d-\d\dT\S+) \S+ kernel: |` +
		`\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\] (?:\[ *([TC])(\d+)\] )?)`)
	// "host kernel: text" of a journal.
	journal = lazyregexp.New(`^\S+ kernel: `)
	escapes = lazyregexp.New("\x1b\\[[0-9;?]*[A-Za-z]")
)

// maxBefore is how much may stand before a line's time: a journal's date and host, or
// what a boot loader left on the console's line.
const maxBefore = 200

// Cut takes a line apart. zero is the time that the first line with a date had, which
// such times count from; it is set by that line. The text is a part of s, unless the line
// had escape sequences of a terminal.
func Cut(s []byte, zero *time.Time) (l Line) {
	if bytes.IndexByte(s, 0x1b) >= 0 {
		s = escapes().ReplaceAll(s, nil)
	}
	s = bytes.Trim(s, "\r\n\x00 ")
	l.Text = s
	if m := stamp().FindSubmatchIndex(s[:min(len(s), maxBefore)]); m != nil {
		sec, _ := strconv.ParseInt(string(s[m[2]:m[3]]), 10, 64)
		usec, _ := strconv.ParseInt(string(s[m[4]:m[5]]), 10, 64)
		l.At, l.Timed = time.Duration(sec)*time.Second+time.Duration(usec)*time.Microsecond, true
		if m[6] >= 0 && s[m[6]] == 'T' {
			l.TID = number32(s[m[8]:m[9]])
		}
		l.Text = s[m[1]:]
		if j := journal().FindIndex(l.Text); j != nil {
			l.Text = l.Text[j[1]:]
		}
		return l
	}
	if m := kmsg().FindSubmatchIndex(s); m != nil {
		usec, _ := strconv.ParseInt(string(s[m[2]:m[3]]), 10, 64)
		const longest = int64(1<<63-1) / int64(time.Microsecond)
		l.At, l.Timed = time.Duration(min(usec, longest))*time.Microsecond, true
		if m[4] >= 0 {
			l.TID = number32(s[m[4]:m[5]])
		}
		l.Text = s[m[1]:]
		return l
	}
	if m := dated().FindSubmatchIndex(s); m != nil {
		if m[2] >= 0 && s[m[2]] == 'T' {
			l.TID = number32(s[m[4]:m[5]])
		}
		l.Text = s[m[1]:]
		return l
	}
	if m := isoStamp().FindSubmatchIndex(s); m != nil {
		if t, err := time.Parse("2006-01-02T15:04:05", string(s[m[2]:m[3]])); err == nil {
			usec, _ := strconv.ParseInt(string(s[m[4]:m[5]]), 10, 64)
			t = t.Add(time.Duration(usec) * time.Microsecond)
			if zero.IsZero() {
				*zero = t
			}
			l.At, l.Timed = max(0, t.Sub(*zero)), true
			l.Text = s[m[1]:]
		}
	}
	return l
}

func number32(s []byte) int32 {
	n, err := strconv.ParseInt(string(s), 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}
