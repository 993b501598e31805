package stacktext

import (
	"bytes"
	"time"
)

// header is the first line of a sample as perf script prints it, with whatever
// fields were asked for, in this order:
//
//	comm  pid/tid [cpu] misc time: period event: payload
//	V8 WorkerThread 24636/25607 [000] 94564.109216:     250000 cycles:u: …
//
// Without callchains, the frame is in the same line, behind the payload. It refers
// to the line that it was parsed from.
type header struct {
	comm     []byte
	pid, tid int32
	cpu      int32
	time     uint64 // ns
	period   uint64
	event    []byte
	rest     []byte // behind the event

	hasComm, hasPID, hasTID, hasCPU, hasTime, hasPeriod bool
	// column says that the rest is a frame, which begins in the column of an address.
	column bool
}

// certain tells whether a line must be a header: a frame, or whatever else there
// is inside a sample, has nothing like it.
func (h *header) certain() bool {
	return h.column || h.hasTime || h.hasCPU && h.hasTID || h.hasPID && h.event != nil ||
		(h.hasTID || h.hasPeriod) && h.event != nil && len(h.rest) == 0
}

// parseHeader parses a line, whose end has been trimmed, and that is not empty.
//
// A name may be anything of 15 bytes, numbers and blanks included, and so may a
// payload. What tells where the name ends is the first place behind which all is
// as it should be: a thread's number before a processor's or a time, or a time
// alone, or, in text without times, a number before the event.
func parseHeader(line []byte) (h header) {
	if h.atColumn(line) {
		return h
	}
	h = header{}
	if h.atTime(line) || h.atCPU(line) || h.atThread(line) {
		return h
	}
	h = header{}
	if h.fields(line); h.event != nil { // without a name
		return h
	}
	// A name alone, or one before an event.
	h = header{}
	if i := eventEnd(line); i > 0 {
		start := i
		for start > 0 && !isBlank(line[start-1]) {
			start--
		}
		h.event, h.rest = line[start:i], trimStart(line[i+1:])
		line = trimEnd(line[:start])
		if word, rest := lastWord(line); len(rest) > 0 {
			if p, ok := number(word); ok {
				h.period, h.hasPeriod, line = p, true, rest
			}
		}
	}
	h.setComm(line)
	return h
}

// eventEnd is where the first word ends that has a colon behind it, or -1.
func eventEnd(line []byte) int {
	for at := 0; ; {
		i := bytes.IndexByte(line[at:], ':')
		switch {
		case i < 0:
			return -1
		case at+i+1 == len(line) || isBlank(line[at+i+1]):
			return at + i
		}
		at += i + 1
	}
}

func (h *header) setComm(s []byte) {
	s = trimEnd(trimStart(s))
	h.comm, h.hasComm = s, len(s) > 0
}

// atColumn parses a name, the flags of -F +misc, or both, and a frame alone, of -F comm,ip,sym
// without callchains: perf prints the name in 16 columns, of which it fills 15 at most.
func (h *header) atColumn(line []byte) bool {
	if line[0] != ' ' {
		h.rest = cutMiscColumn(line)
		h.column = len(h.rest) < len(line) && startsColumn(h.rest)
	} else if len(line) > commColumn {
		h.setComm(line[:commColumn])
		if h.rest = line[commColumn:]; h.rest[0] == ' ' && !startsColumn(h.rest) {
			h.rest = cutMiscColumn(h.rest[1:])
		}
		h.column = h.hasComm && startsColumn(h.rest)
	}
	h.rest = trimStart(h.rest)
	return h.column
}

// commColumn is how wide perf prints a name, and miscColumn the flags of -F +misc, which have five
// letters at most (tools/perf/builtin-script.c, perf_sample__fprintf_start).
const (
	commColumn = 16
	miscColumn = 6
)

// cutMiscColumn removes the flags of -F +misc from the start, but for the last blank of their column.
func cutMiscColumn(s []byte) []byte {
	if w := firstWord(s); isMisc(w) && w[0] <= 'Z' && len(w)+blanks(s[len(w):]) > miscColumn {
		return s[miscColumn-1:]
	}
	return s
}

// startsColumn tells whether a frame begins s, which stands behind a field of text without
// callchains: a blank ends the field, and another one is before the address's 16 columns
// (tools/perf/builtin-script.c, process_event).
func startsColumn(s []byte) bool {
	n := blanks(s)
	return n >= 2 && n+len(firstWord(s[n:])) == 2+addressColumn && isHexNumber(firstWord(s[n:]))
}

// atTime looks for "123.456789:" behind a thread or processor, or else anywhere.
func (h *header) atTime(line []byte) bool {
	firstStart, firstEnd := -1, 0
	var firstTime uint64
	for end := 0; ; {
		i := bytes.IndexByte(line[end:], ':')
		if i < 0 {
			break
		}
		i += end
		end = i + 1
		if i+1 < len(line) && !isBlank(line[i+1]) {
			continue
		}
		start := i
		for start > 0 && !isBlank(line[start-1]) {
			start--
		}
		t, ok := parseTime(line[start:i])
		if !ok {
			continue
		}
		if h.before(line[:start]) {
			h.time, h.hasTime = t, true
			h.fields(line[end:])
			return true
		}
		if firstStart < 0 {
			firstStart, firstEnd, firstTime = start, end, t
		}
	}
	if firstStart < 0 {
		return false
	}
	*h = header{time: firstTime, hasTime: true}
	h.setComm(line[:firstStart])
	h.fields(line[firstEnd:])
	return true
}

// before parses what stands before a time: a name, threads, a processor, the flags of
// -F +misc, and the date of -F +tod. It fails if there is neither a thread nor a processor.
func (h *header) before(s []byte) bool {
	s = cutDate(s)
	if h.ids(s) {
		return true
	}
	last, rest := lastWord(s)
	return isMisc(last) && h.ids(rest)
}

// cutDate removes from the end what -F +tod prints before the time: "2026-11-27 15:10:12.241163".
func cutDate(s []byte) []byte {
	clock, rest := lastWord(s)
	day, rest := lastWord(rest)
	if len(clock) > len("15:04:05.") && clock[2] == ':' && clock[5] == ':' && clock[8] == '.' &&
		len(day) == len(time.DateOnly) && day[4] == '-' && day[7] == '-' {
		return rest
	}
	return s
}

// isMisc tells whether a word may be the flags of -F +misc: "K", "UE".
func isMisc(w []byte) bool {
	for _, c := range w {
		if (c|0x20)-'a' >= 26 {
			return false
		}
	}
	return len(w) > 0 && len(w) <= 5
}

// ids parses a line's beginning that ends in a thread, a processor, or both.
func (h *header) ids(s []byte) bool {
	*h = header{}
	word, rest := lastWord(s)
	if c, ok := parseCPU(word); ok {
		h.cpu, h.hasCPU = c, true
		s = rest
		word, rest = lastWord(s)
	}
	if h.thread(word) {
		s = rest
	}
	h.setComm(s)
	return h.hasCPU || h.hasTID
}

// thread parses "pid/tid", or "tid".
func (h *header) thread(w []byte) bool {
	i := bytes.IndexByte(w, '/')
	tid, ok := parseID(w[i+1:])
	if !ok {
		return false
	}
	if i >= 0 {
		pid, ok := parseID(w[:i])
		if !ok {
			return false
		}
		h.pid, h.hasPID = pid, true
	}
	h.tid, h.hasTID = tid, true
	return true
}

// atCPU looks for "[001]" behind a thread or before an event, in text without times.
func (h *header) atCPU(line []byte) bool {
	for end, tries := 0, 0; tries < maxTries; {
		i := bytes.IndexByte(line[end:], '[')
		if i < 0 {
			return false
		}
		i += end
		word := firstWord(line[i:])
		end = i + 1
		if _, ok := parseCPU(word); ok && (i == 0 || isBlank(line[i-1])) && h.ids(line[:i+len(word)]) {
			tries++
			h.fields(trimMisc(line[i+len(word):]))
			h.column = !h.hasTID && h.hasComm && startsColumn(line[i+len(word):])
			if h.hasTID || h.column || i == blanks(line) || h.event != nil {
				return true
			}
		}
	}
	return false
}

// trimMisc removes the flags of -F +misc from the start.
func trimMisc(s []byte) []byte {
	t := trimStart(s)
	if w := firstWord(t); isMisc(w) && w[0] >= 'A' && w[0] <= 'Z' {
		return t[len(w):]
	}
	return s
}

// atThread looks for a thread before an event, or at the end of the line, in text
// that has neither times nor processors. Numbers are printed in columns: one that
// has a single blank before it and is short is rather part of a name.
func (h *header) atThread(line []byte) bool {
	if h.bareThread(line) {
		return true
	}
	*h = header{}
	loose := header{}
	for i, tries := blanks(line), 0; i < len(line) && tries < maxTries; {
		w := firstWord(line[i:])
		start := i
		i += len(w)
		i += blanks(line[i:])
		var x header
		if !x.thread(w) {
			continue
		}
		tries++
		x.fields(trimMisc(line[start+len(w):]))
		switch {
		case x.event != nil || x.hasPID:
		case len(x.rest) > 0 && !isFrameStart(x.rest):
			continue
		}
		if !x.hasPID && !x.hasPeriod && x.event != nil && isPeriodColumn(line, start, len(w)) {
			x.hasTID, x.period, x.hasPeriod = false, uint64(x.tid), true
			x.setComm(line[:start])
			*h = x
			return true
		}
		x.setComm(line[:start])
		if x.hasPID || start+len(w) >= minColumn && start > 1 && isBlank(line[start-2]) || len(w) >= minColumn-1 {
			*h = x
			return true
		}
		if !loose.hasTID && x.event != nil {
			loose = x
		}
	}
	if loose.hasTID {
		*h = loose
	}
	return h.hasTID
}

// bareThread parses a line that begins with the number of a thread and has nothing behind it but a
// period and an address in columns of their own, of -F tid,period,ip,sym. An address would stand
// behind a tab, or further to the right.
func (h *header) bareThread(line []byte) bool {
	n := blanks(line)
	word := firstWord(line[n:])
	end := n + len(word)
	if line[0] == '\t' || end >= addressColumn || !h.thread(word) || h.hasPID {
		return false
	}
	h.rest = trimStart(line[end:])
	if len(h.rest) == 0 {
		return n > 0 || len(word) >= 7
	}
	word = firstWord(h.rest)
	if at := len(line) - len(h.rest) + len(word); at-end <= addressColumn {
		if h.period, h.hasPeriod = number(word); !h.hasPeriod {
			return false
		}
		if h.rest, end = trimStart(h.rest[len(word):]), at; len(h.rest) == 0 {
			return true
		}
	}
	f, ok := parseFrame(h.rest)
	return ok && len(line)-len(h.rest)+len(f.ip)-end > addressColumn
}

// addressColumn is how wide perf prints an address, at least.
const addressColumn = 16

// isPeriodColumn tells whether a number is printed as wide as periods are, of text
// that has no threads: a thread's number is printed in 7 columns at most.
func isPeriodColumn(line []byte, start, n int) bool {
	end := start + n
	for start > 0 && isBlank(line[start-1]) {
		start--
	}
	if start == 0 { // of the line: no blank parts it from a name
		return end >= periodColumn
	}
	return end-start > periodColumn
}

// periodColumn is how wide perf prints a period, at least.
const periodColumn = 10

// minColumn is how wide perf prints a thread's number, at least, with the blank
// before it.
const minColumn = 6

// fields parses what stands behind time, processor or thread: period, event, and
// the rest.
func (h *header) fields(s []byte) {
	t := trimStart(s)
	w := firstWord(t)
	if p, ok := number(w); ok {
		after := trimStart(t[len(w):])
		// A number before a symbol is an address, of text without an event.
		if e, _ := cutEvent(after); e != nil || len(after) == 0 || isFrameStart(after) {
			h.period, h.hasPeriod = p, true
			s = t[len(w):]
		}
	}
	if e, rest := cutEvent(trimStart(s)); e != nil {
		h.event, s = e, rest
	}
	h.rest = trimStart(s)
}

// isFrameStart tells whether a frame begins here: an address, and something else.
func isFrameStart(s []byte) bool {
	f, ok := parseFrame(s)
	return ok && len(f.ip) > 3
}

// cutEvent cuts an event's name, which may have colons in it, and its colon off.
// What has blanks is none, but for the numbers of events without a name.
func cutEvent(s []byte) (event, rest []byte) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case isBlank(c) && (i != 3 || string(s[:3]) != "raw"):
			return nil, s
		case c == ':' && i > 0 && (i+1 == len(s) || isBlank(s[i+1])):
			return s[:i], s[i+1:]
		}
	}
	return nil, s
}

func firstWord(s []byte) []byte {
	for i, c := range s {
		if isBlank(c) {
			return s[:i]
		}
	}
	return s
}

// lastWord returns the last word of a line and what stands before it.
func lastWord(s []byte) (word, rest []byte) {
	s = trimEnd(s)
	i := len(s)
	for i > 0 && !isBlank(s[i-1]) {
		i--
	}
	return s[i:], s[:i]
}

// number parses a decimal number without a sign.
func number(w []byte) (n uint64, ok bool) {
	if len(w) == 0 || len(w) > 19 {
		return 0, false
	}
	for _, c := range w {
		if !isDigit(c) {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, true
}

// parseID parses the number of a task; that of one that is gone is -1.
func parseID(w []byte) (int32, bool) {
	if len(w) == 2 && w[0] == '-' && w[1] == '1' {
		return -1, true
	}
	n, ok := number(w)
	return int32(n), ok && n < 1<<31
}

func parseCPU(w []byte) (int32, bool) {
	if len(w) < 3 || w[0] != '[' || w[len(w)-1] != ']' {
		return 0, false
	}
	return parseID(w[1 : len(w)-1])
}

// maxSeconds are the most that a time in ns has. From sumTime on, cut to seconds, a time is none of a
// sample's own: so far behind all others perf record --off-cpu has the sums of the whole recording
// (perf's bpf_off_cpu.c, OFF_CPU_TIMESTAMP).
const (
	maxSeconds = 18446744072
	sumTime    = 18446744069 * 1e9
)

// parseTime parses seconds with a fraction into ns.
func parseTime(w []byte) (ns uint64, ok bool) {
	dot := bytes.IndexByte(w, '.')
	if dot < 0 {
		return 0, false
	}
	sec, ok := number(w[:dot])
	frac, ok2 := number(w[dot+1:])
	if !ok || !ok2 || sec > maxSeconds || len(w)-dot-1 > 9 {
		return 0, false
	}
	for i := len(w) - dot - 1; i < 9; i++ {
		frac *= 10
	}
	return sec*1e9 + frac, true
}
