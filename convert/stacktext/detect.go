package stacktext

import "bytes"

// IsPerfScript tells whether text that begins with these lines, of which none is
// empty, may be what perf script prints.
//
// It has a header with a time, and a frame; or half of its lines, comments aside,
// are one or the other.
func IsPerfScript(lines [][]byte) bool {
	headers, frames, comments := 0, 0, 0
	inline := false
	for _, line := range lines {
		h := parseHeader(line)
		g, hasFrame := inlineFrame(&h)
		hasFrame = hasFrame && (g.dso != nil || len(g.ip) >= 5 && hasDigit(g.ip))
		if h.hasTime && (h.hasTID || h.hasCPU || h.event != nil) || h.event != nil && hasFrame {
			headers++
			inline = inline || hasFrame
			continue
		}
		if hasFrame && (g.dso != nil || h.hasTime) && (h.hasTime || h.hasTID || h.hasCPU) { // without an event
			frames++
			continue
		}
		indent := blanks(line)
		f, ok := parseFrame(line[indent:])
		switch {
		case ok && len(f.ip) >= 3 && f.dso != nil,
			ok && indent > 0 && (line[0] == '\t' || len(f.ip) >= 5) && hasDigit(f.ip):
			frames++
		case line[0] == '#', bytes.HasPrefix(line, traceError), isBetween(line):
			comments++
		}
	}
	n := headers + frames
	return headers > 0 && (frames > 0 || inline) || n > 0 && n*2 >= len(lines)-comments
}

func hasDigit(s []byte) bool {
	for _, c := range s {
		if isDigit(c) {
			return true
		}
	}
	return false
}
