package stacktext

import "bytes"

// IsPerfScript tells whether text that begins with these lines, of which none is
// empty, may be what perf script prints.
//
// It has a header with a time, and a frame; or half of its lines, comments aside,
// are one or the other. A header without a time tells only with others, as much has
// a word with a colon and a number behind it.
func IsPerfScript(lines [][]byte) bool {
	headers, frames, comments := 0, 0, 0
	timed, inline := false, false
	for _, line := range lines {
		h := parseHeader(line)
		g, hasFrame := inlineFrame(&h)
		hasFrame = hasFrame && (g.dso != nil || len(g.ip) >= 5 && hasDigit(g.ip) && !isTableRow(&g))
		if h.hasTime && (h.hasTID || h.hasCPU || h.event != nil) || h.event != nil && hasFrame && inColumn(line, &g) {
			headers++
			timed = timed || h.hasTime
			inline = inline || h.hasTime && hasFrame
			continue
		}
		if hasFrame && (g.dso != nil || h.hasTime || inColumn(line, &g)) && (h.hasTime || h.hasTID || h.hasCPU || h.column) { // without an event
			frames++
			continue
		}
		indent := blanks(line)
		f, ok := parseFrame(line[indent:])
		switch {
		case ok && len(f.ip) >= 3 && f.dso != nil,
			ok && indent > 0 && (line[0] == '\t' || len(f.ip) >= 5) && hasDigit(f.ip) && !isTableRow(&f):
			frames++
		case line[0] == '#', bytes.HasPrefix(line, traceError), isBetween(line),
			frames > 0 && hasBranchFlags(line),
			indent == 2 && frames+headers > 0 && isSource(line[indent:]): // of -F +srcline
			comments++
		}
	}
	n := headers + frames
	return timed && (frames > 0 || inline) || n > 0 && n*2 >= len(lines)-comments
}

// inColumn tells whether the address of a frame in a header's line stands as perf prints it: in 16
// columns, with a blank before them, and another one behind the event's colon
// (tools/perf/builtin-script.c, process_event). The frame is a part of the line.
func inColumn(line []byte, f *frame) bool {
	start := cap(line) - cap(f.ip)
	before := trimEnd(line[:start])
	width := start + len(f.ip) - len(before)
	if bytes.HasSuffix(before, []byte(":")) {
		width--
	}
	return width > addressColumn
}

// isTableRow tells whether a frame is rather a row of a table of numbers, as of readelf, or of
// a histogram of bcc, "16384 -> 32767 : 12": names of functions are no numbers.
func isTableRow(f *frame) bool {
	w := firstWord(f.symbol)
	return isHexNumber(w) && isDigit(w[0]) || bytes.Equal(w, []byte("->"))
}

func hasDigit(s []byte) bool {
	for _, c := range s {
		if isDigit(c) {
			return true
		}
	}
	return false
}
