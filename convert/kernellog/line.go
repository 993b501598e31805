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

// What stands before the text of a line.
const (
	// "<6>" of /proc/kmsg and dmesg -r, "kern  :info  : " of dmesg -x.
	level = `(?:<\d+>|[a-z]+ *:[a-z]+ *: )?`
	// "[    1.234567] ", perhaps with "[    T1] " behind it, which dmesg since util-linux 2.41 has
	// behind a blank, or with what dmesg -d has in it, "[    1.234567 <    0.000012>] ": dmesg,
	// consoles, and journalctl -o short-monotonic, which has the host behind it. Kernels of Amlogic
	// have the CPU in it, "[    1.234567@0] ".
	stampForm = `\[ *(\d{1,9})\.(\d{6})(?:@\d{1,4})?(?: <[ \d.]*>)?\](?: ?\[ *([TC])(\d+)\])?`
	// The CPU and the task that kernels of MediaTek have behind that, "<0>.(0)[1:swapper/0]", and those of
	// Samsung, "  [1:      swapper/0:    1] ", where "." and others tell of interrupts.
	mediatekForm = `(?:<\d>)? {0,2}[-.*]?\([0-9a-f]{1,2}\)\[\d{1,7}:[^\]]{1,16}\]`
	samsungForm  = ` {0,2}I?\[\d{1,3}: *[^\]\s][^\]]{0,15}: *\d{1,7}\]`
	// What programs that capture a serial console put before its lines: blanks, and a date or a time
	// of the day, "2024-05-01T10:00:05.123Z ", "[2024-05-01 10:00:05] ", "10:00:05.123 > ",
	// "May 01 10:00:05 ", "1714557605.123 ", "[5.123456 0.000012] "; what Android's logcat puts there, "05-01 10:00:05.123   142   142
	// I KERNEL  : ", "I/kernel  (  142): "; and what mails have before what they quote.
	captureForm = `[ \t]*(?:\[?(?:\d{4}-\d\d-\d\d[ T])?\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?[ \t]+|` +
		`\[?\d{9,10}\.\d+\]?[ \t]+|\[\d+\.\d+ \d+\.\d+\] |` + monthForm + `(?:\.\d+)?[ \t]+|` +
		`\d\d-\d\d \d\d:\d\d:\d\d\.\d{3,6} +\d+ +\d+ [A-Z] (?i:kernel) *: |[A-Z]/(?i:kernel) *\( *\d+\): )?(?:> ?)*`
	// The date of syslog, "May 01 10:00:05", of which journalctl has the month in the language of who reads it: "déc. 01",
	// "3月 01".
	monthForm = `(?:\pL{2,9}\.?|\d{1,2}\pL) [ \d]\d \d\d:\d\d:\d\d`
	// "6,339,5140900,-,caller=T1;text" of /dev/kmsg, in microseconds.
	kmsgForm = `\d+,\d+,(\d{1,18}),[^;]*?(?:,caller=T(\d+)[^;]*)?;`
	// "2024-05-01T10:00:00,123456+02:00 text" of dmesg --time-format iso.
	isoForm = level + `(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d),(\d{6})[+-]\d\d:\d\d `
	// "May 01 10:00:05 host kernel: text" of syslog and journalctl, whose -o makes the date
	// "2024-05-01T10:00:05+0200" (rsyslog too), "Wed 2024-05-01 10:00:05 UTC" or
	// "1714557605.123456". BusyBox has "host kern.info kernel: ", and logread of OpenWrt
	// "Wed May  1 10:00:05 2024 kern.info kernel: ".
	syslogForm = `(?:(?:` + monthForm + `(?:\.\d+)?|\d{4}-\d\d-\d\dT\S+|` +
		`\pL{2,9}\.? \d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? \S+|\d+\.\d{6}) \S+ (?:[a-z]+\.[a-z]+ )?|` +
		`[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4} kern\.[a-z]+ )kernel: ?`
	// "[Wed May  1 10:00:05 2024] text" of dmesg -T, whose times are no finer than a second and
	// may go back, with "<    0.000012>" behind the year with -d, or by itself. With -e that is
	// "[May 1 10:00] " where the minute is another, else "[  +0.000012] ".
	ctimeForm = level + `\[(?:[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}(?: <[ \d.]*>)?|<[ \d.]*>|` +
		`[A-Z][a-z]{2}[ \d]\d \d\d:\d\d| *\+\d+\.\d{6})\] (?:\[ *([TC])(\d+)\] )?`
)

var (
	stamp    = lazyregexp.New(stampForm + `(?:` + mediatekForm + `|` + samsungForm + `)? ?`)
	kmsg     = lazyregexp.New(`^` + kmsgForm)
	isoStamp = lazyregexp.New(`^` + isoForm)
	dated    = lazyregexp.New(`^(?:` + syslogForm + `|` + ctimeForm + `)`)
	// "host kernel: text" of a journal.
	journal = lazyregexp.New(`^\S+ kernel: `)
	escapes = lazyregexp.New("\x1b\\[[0-9;?]*[A-Za-z]")
)

// Begin matches the lines that begin as those of such logs do, and not as those of others. The
// errors of Apache 2.2, "[Wed May 01 10:00:05 2024] [error] text", have dates as dmesg -T.
var Begin = lazyregexp.New(`^(?:\x1b\[[\d;]*m)*(?:` + captureForm + level + stampForm + `(?: |` + mediatekForm + `)|` + kmsgForm + `|` + isoForm + `|` + syslogForm + `|` + ctimeForm + `(?:[^\[]|$))`)

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
