package stacktext

import "bytes"

// inlineFrame is the frame in a header's line, of text without callchains. Of the
// payload of a tracepoint nothing is known: behind it, only what has a file is
// taken for a frame. What begins with an address is a frame, or what -F +addr prints
// before the frame: an address of data, with its symbol and file where perf knows
// them. So the last frame counts. Of a branch, the frame is where it came from.
func inlineFrame(h *header) (f frame, ok bool) {
	s := h.rest
	if len(s) == 0 {
		return f, false
	}
	s = cutBehind(s)
	if from, ok := cutBranch(s); ok {
		s = from
	}
	s = cutMemory(s)
	whole, ok := parseFrame(s)
	if ok && whole.bare {
		return whole, true
	}
	isFrame := ok && (len(whole.symbol) == 0 || !isAddress(firstWord(whole.symbol)) && whole.symbol[0] != '|') // rather than "1e05080021 |OP LOAD|LVL L1 hit", of -F +data_src
	if len(s) == 0 || !isFrame && s[len(s)-1] != ')' {
		return f, false
	}
	// The last address with two blanks before it, as it is printed in a column; with one
	// if it fills the column.
	for end, tries := len(s), 0; tries < maxTries; {
		if end = bytes.LastIndexByte(s[:end], ' '); end < 0 {
			break
		}
		if (end == 0 || s[end-1] != ' ') && len(firstWord(s[end+1:])) != 16 {
			continue
		}
		tries++
		if f, ok = parseFrame(s[end+1:]); ok && !f.bare && (isFrame || f.dso != nil || f.symbol == nil) {
			return f, true
		}
	}
	return whole, isFrame
}

// cutBehind removes from the end what -F +iregs, +uregs, +brstack, +brstacksym, +insn and
// +insnlen print behind a frame.
func cutBehind(s []byte) []byte {
	if s[len(s)-1] == ')' {
		return s
	}
	if hasBranchFlags(s) {
		s = cutBranches(s)
	}
	for _, begin := range [...]string{" ABI:", " 0x", " ilen:", " insn:"} {
		for at := 0; ; {
			i := bytes.Index(s[at:], []byte(begin))
			if i < 0 {
				break
			}
			if i += at; isBehind(s[i+1:]) {
				s = trimEnd(s[:i])
				break
			}
			at = i + len(begin)
		}
	}
	return s
}

// isBehind tells whether registers, a branch or an instruction begin here: "ABI:2    AX:0x0",
// "0x401020/0x401000/P/-/-/0", "ilen: 3", "insn: 48 89 e5".
func isBehind(s []byte) bool {
	word := firstWord(s)
	next := firstWord(trimStart(s[len(word):]))
	switch string(word[:min(len(word), 2)]) {
	case "AB":
		_, ok := number(word[len("ABI:"):])
		return ok && (len(next) == 0 || bytes.Contains(next, []byte(":0x")))
	case "0x":
		return bytes.Contains(word, []byte("/0x"))
	case "il":
		_, ok := number(next)
		return ok
	}
	return len(next) == 2 && isHexNumber(next)
}

// maxTries bounds the places in a line at which a frame, a thread or a processor is looked for: from
// each the line is read to its end. A thread has a name of 15 bytes before it.
const maxTries = 64

// cutMemory removes from the end what -F +phys_addr, +data_page_size and +code_page_size print
// behind a frame.
func cutMemory(s []byte) []byte {
	for t := s; ; {
		if len(t) > 0 && t[len(t)-1] == ')' {
			return t
		}
		word, rest := lastWord(t)
		if !isPageSize(word) && !isHexNumber(word) || len(rest) == 0 {
			return s
		}
		t = trimEnd(rest)
	}
}

// cutBranch returns what a branch, "FROM => TO", came from. Names have such an arrow too; behind perf's
// is an address in 16 columns (tools/perf/builtin-script.c, perf_sample__fprintf_bts).
func cutBranch(rest []byte) (from []byte, ok bool) {
	i := bytes.LastIndex(rest, branchTo)
	if i < 0 {
		return nil, false
	}
	to := rest[i+len(branchTo):]
	n := blanks(to)
	f, ok := parseFrame(to[n:])
	return trimEnd(rest[:i]), ok && n+len(f.ip) >= addressColumn
}

// hasBranchFlags tells whether a line has the flags of a branch, of -F +brstack, +brstacksym and +brstackoff:
// "main+0x5/f+0x0/P/-/-/0/" (tools/perf/builtin-script.c, print_bstack_flags).
func hasBranchFlags(s []byte) bool {
	for i := 0; i+len("/-/-/0") <= len(s); i++ {
		if f := s[i:]; f[0] == '/' && f[2] == '/' && f[4] == '/' && isDigit(f[5]) && (f[1] == '-' || f[1] == 'X') && (f[3] == '-' || f[3] == 'A') {
			return true
		}
	}
	return false
}

// cutBranches removes from the end what -F +brstacksym prints behind a frame, right behind its file:
// "main+0x5 (/bin/x)main+0x4(/bin/x)/f+0x0(/bin/x)/P/-/-/0/".
func cutBranches(s []byte) []byte {
	for at := 0; ; {
		i := bytes.Index(s[at:], open)
		if i < 0 {
			return s
		}
		i += at
		_, offset := cutOffset(s[:i])
		if !offset && !bytes.HasSuffix(s[:i], unknown) {
			at = i + len(open)
			continue
		}
		if end := bytes.IndexByte(s[i:], ')'); end > 0 {
			return s[:i+end+1]
		}
		return s
	}
}

// isHexNumber tells whether a word is a number in hexadecimal.
func isHexNumber(w []byte) bool {
	for _, c := range w {
		if !isHex(c) {
			return false
		}
	}
	return len(w) > 0
}

// isAddress tells whether a word is an address rather than a symbol.
func isAddress(w []byte) bool { return len(w) >= 6 && isHexNumber(w) }
