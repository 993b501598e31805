package trace

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"time"

	"kprof/convert/kernellog"
	"kprof/convert/trace/ftracetext"
	"kprof/perfevent/textlimit"
)

// TextForm is what the text of a trace is in.
type TextForm uint8

// The forms of text.
const (
	Plain TextForm = iota
	Log            // a log of the kernel, into which it dumped the trace (ftrace_dump_on_oops, sysrq z)
	Page           // a page (HTML) of Android's systrace
)

// marks are what is in a text of a form that has a trace in it.
var marks = [...]string{Log: "Dumping ftrace ", Page: "# tracer: "}

// HasText reports whether there is a trace in the first size bytes of r. What begins a dump may be
// missing in a log, whose ring is often smaller than a trace.
func HasText(r io.ReaderAt, size int64, form TextForm) (bool, error) {
	if form != Log {
		return hasMark(r, size, []byte(marks[form]), nil)
	}
	has, err := hasMark(r, size, []byte(marks[form]), new(textlimit.Line))
	if has || err != nil {
		return has, err
	}
	return hasDump(r, size)
}

// maxLogLine is more than a line of a log has, and what stands before its text, in bytes.
const maxLogLine = 4 << 10

// minDumped is how many lines of a trace there are at least in a log in which nothing says where it begins.
const minDumped = 3

// hasDump reports whether a log has lines of a trace in it.
func hasDump(r io.ReaderAt, size int64) (bool, error) {
	b := bufio.NewReaderSize(textlimit.NewReader(io.NewSectionReader(r, 0, size)), textChunk)
	p := textPart{form: Log}
	n := 0
	for {
		line, err := b.ReadSlice('\n')
		if text, ok := p.of(string(line)); ok && isDumped(text) {
			if n++; n == minDumped {
				return true, nil
			}
		}
		if err == io.EOF {
			return false, nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return false, err
		}
	}
}

// hasMark reports whether a mark is in the first size bytes of r, whose lines line limits; nil
// takes lines of any length, as those of pages are.
func hasMark(r io.ReaderAt, size int64, mark []byte, line *textlimit.Line) (bool, error) {
	buf := make([]byte, textChunk)
	for off, kept := int64(0), 0; off < size; {
		n, err := r.ReadAt(buf[kept:kept+int(min(int64(len(buf)-kept), size-off))], off)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if off += int64(n); n == 0 {
			break
		}
		if bytes.Contains(buf[:kept+n], mark) {
			return true, nil
		}
		if line != nil {
			if err := line.Add(buf[kept : kept+n]); err != nil {
				return false, err
			}
		}
		keep := min(kept+n, len(mark)-1)
		copy(buf, buf[kept+n-keep:kept+n])
		kept = keep
	}
	return false, nil
}

// textPart finds the lines of a trace in a text.
type textPart struct {
	form   TextForm
	inside bool
	ruled  bool // the line of hyphens before the first event was there
	quoted bool // lines are quoted, of a mail
	zero   time.Time
	at     time.Duration // of the last line, in a log that tells it
}

// of returns the line of the trace that a line of the text has.
func (p *textPart) of(line string) (string, bool) {
	switch p.form {
	case Log:
		return p.ofLog(line)
	case Page:
		return p.ofPage(line)
	}
	return p.ofMail(line), true
}

// ofMail takes off what a mail has before lines that it quotes: "> ", and that again for each time that they
// were quoted before. The first of them is one of a trace; others may be of a message. No line of the
// kernel's begins so, since it prints names of tasks in more columns than they have.
func (p *textPart) ofMail(line string) string {
	text := line
	for strings.HasPrefix(text, ">") {
		text = strings.TrimPrefix(text[1:], " ")
	}
	if len(text) == len(line) || !p.quoted && !strings.HasPrefix(text, "# ") && ftracetext.Parse(text).Kind == ftracetext.Other {
		return line
	}
	p.quoted = true
	return text
}

// ofLog finds what the kernel dumps (kernel/trace/trace.c, ftrace_dump_one).
func (p *textPart) ofLog(line string) (string, bool) {
	began := p.inside || p.ruled // else it may have begun before the log does
	if !p.inside && !strings.Contains(line, marks[Log]) && (began || !mayBeDumped(line)) {
		return "", false
	}
	cut := kernellog.Cut([]byte(line), &p.zero)
	text := string(cut.Text)
	p.at = cut.At
	trimmed := strings.TrimSpace(text)
	switch {
	case strings.Contains(text, marks[Log]) && strings.HasSuffix(trimmed, "buffer:"):
		p.inside, p.ruled = true, false
		return "", false
	case !p.inside && !began && isDumped(text):
		p.inside, p.ruled = true, true
		return text, true
	case !p.inside:
		return "", false
	case trimmed == "(ftrace buffer empty)":
		p.inside = false
		return "", false
	case len(trimmed) > 20 && len(trimmed) < 40 && strings.Trim(trimmed, "-") == "": // 33; those of function_graph are 42
		p.inside, p.ruled = !p.ruled, true
		return "", false
	}
	return text, true
}

// mayBeDumped reports whether a line of a log may be one of a trace: it has a time of the latency format,
// "12us : " or with a mark, or columns of function_graph. Longer ones the kernel does not print at once
// (kernel/printk/internal.h, PRINTK_MESSAGE_MAX), and they take long to be taken apart.
func mayBeDumped(line string) bool {
	if len(line) > maxLogLine {
		return false
	}
	if strings.Contains(line, "|  ") {
		return true
	}
	for at := 0; ; {
		i := strings.Index(line[at:], "us")
		if i < 0 {
			return false
		}
		if at += i + len("us"); len(line) > at+3 && line[at+1] == ':' && line[at+2] == ' ' {
			return true
		}
	}
}

// isDumped reports whether the text of a line of a log is a line of a trace, which tells the CPU, and in the
// latency format the task.
func isDumped(text string) bool {
	l := ftracetext.Parse(text)
	switch l.Kind {
	case ftracetext.Event, ftracetext.Call:
		return l.CPU >= 0 && l.TID >= 0 && l.HasTime
	case ftracetext.Enter, ftracetext.Leave, ftracetext.Leaf:
		return l.CPU >= 0
	}
	return false
}

// ofPage finds what is in the elements of a page that hold traces, and before 2013 in a
// string of its program, each line with a newline and a backslash behind it.
func (p *textPart) ofPage(line string) (string, bool) {
	if !p.inside {
		i := strings.Index(line, marks[Page])
		if i < 0 {
			return "", false
		}
		p.inside, line = true, line[i:]
	}
	if i := strings.Index(line, "</script>"); i >= 0 {
		p.inside, line = false, line[:i]
	}
	if cut, ok := strings.CutSuffix(line, `\n\`); ok {
		line = cut
	} else if strings.HasPrefix(line, `";`) || strings.HasSuffix(line, `\n";`) {
		p.inside = false
		line = strings.TrimSuffix(strings.TrimPrefix(line, `";`), `\n";`)
	}
	return line, strings.TrimSpace(line) != ""
}
