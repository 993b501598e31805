package stacktext

import (
	"bytes"
	"strings"

	"kprof/convert/stacks"
)

// frame is a line of a callchain as perf script prints it:
//
//	ffffffff81a8149b get_vfs_caps_from_disk+0x6b ([kernel.kallsyms])
//	           1462a handle_amd+0xa (inlined)
//
// It refers to the line that it was parsed from.
type frame struct {
	ip      []byte // hexadecimal
	symbol  []byte // without offset; nil if the line has none, or it is "[unknown]"
	dso     []byte // nil if the line has none, or it is "[unknown]"
	inlined bool
	bare    bool // the line has nothing but the address
	cookie  bool // it is none, but the ip a cookie, of callers that come later
}

var (
	unknown  = []byte("[unknown]")
	inlined  = []byte("inlined")
	open     = []byte(" (")
	deleted  = []byte(" (deleted")
	insn     = []byte("insn:")
	branchTo = []byte(" => ")
)

// parseFrame parses a line, whose ends have been trimmed, or says that it is no
// frame.
func parseFrame(line []byte) (f frame, ok bool) {
	i := 0
	for i < len(line) && isHex(line[i]) {
		i++
	}
	if i == 0 || i > 16 || i < len(line) && !isBlank(line[i]) {
		return f, false
	}
	f.ip = line[:i]
	for i < len(line) && isBlank(line[i]) {
		i++
	}
	rest := line[i:]
	if len(rest) == 0 {
		f.bare = true
		return f, true
	}
	if rest[0] == '(' && bytes.HasPrefix(rest, cookieFrame) {
		f.cookie = true
		return f, true
	}
	if len(f.ip) == 16 && line[16] == '\t' || rest[0] == 'i' && bytes.HasPrefix(rest, insn) { // of -F +brstackinsn, +brstackdisasm
		return f, false
	}
	f.symbol = rest
	if rest[len(rest)-1] == ')' {
		f.symbol, f.dso = splitDSO(rest)
	}
	f.symbol, _ = cutOffset(f.symbol)
	f.symbol = trimEnd(f.symbol)
	if len(f.symbol) == len(unknown) && f.symbol[0] == '[' && bytes.Equal(f.symbol, unknown) {
		f.symbol = nil
	}
	switch {
	case len(f.dso) == len(inlined) && bytes.Equal(f.dso, inlined):
		f.dso, f.inlined = nil, true
	case len(f.dso) == len(unknown) && bytes.Equal(f.dso, unknown):
		f.dso = nil
	case f.dso != nil:
		f.dso, _ = cutOffset(f.dso) // of -F +dsoff
	}
	return f, true
}

// splitDSO takes "symbol+0x1 (dso)" apart. Both may have parentheses and blanks in
// them: the file's name begins behind the offset, where there is one, or behind
// "[unknown]"; otherwise it is the last that stands in parentheses, with a
// "(deleted)" of its own.
func splitDSO(s []byte) (symbol, dso []byte) {
	end := len(s) - 1
	i := end - 1
	for i >= 1 && (s[i] != '(' || s[i-1] != ' ') {
		i--
	}
	if i < 1 {
		if s[0] == '(' && balanced(s[1:end]) { // no symbol, rather than "(anonymous namespace)::f(int)"
			return nil, s[1:end]
		}
		return s, nil
	}
	if _, cut := cutOffset(s[:i-1]); cut || s[end-1] != ')' && bytes.IndexByte(s, ')') == end {
		return s[:i-1], s[i+1 : end]
	}
	// There is more than one pair, or no offset.
	if bytes.HasPrefix(s, unknown) && bytes.HasPrefix(s[len(unknown):], open) {
		return s[:len(unknown)], s[len(unknown)+2 : end]
	}
	for at := 0; ; { // "+0x1 (" before the last "("
		k := bytes.Index(s[at:i], open)
		if k < 0 {
			break
		}
		at += k
		if _, cut := cutOffset(s[:at]); cut {
			return s[:at], s[at+2 : end]
		}
		at += 2
	}
	if bytes.HasPrefix(s[i-1:], deleted) {
		if k := bytes.LastIndex(s[:i-1], open); k >= 0 {
			return s[:k], s[k+2 : end]
		}
	}
	if !balanced(s[i+1 : end]) { // parameters, of text without files
		return s, nil
	}
	return s[:i-1], s[i+1 : end]
}

// balanced tells whether each parenthesis that is closed has been opened.
func balanced(s []byte) bool {
	open := 0
	for _, c := range s {
		switch c {
		case '(':
			open++
		case ')':
			open--
		}
		if open < 0 {
			return false
		}
	}
	return open == 0
}

// cutOffset removes "+0x1f" from the end, and tells whether there was one.
func cutOffset(s []byte) ([]byte, bool) {
	i := len(s)
	for i > 0 && isHex(s[i-1]) {
		i--
	}
	if i == len(s) || i < 3 || s[i-1] != 'x' || s[i-2] != '0' || s[i-3] != '+' {
		return s, false
	}
	return s[:i-3], true
}

// isKernelAddress tells whether an address in hexadecimal is of the upper half,
// where the kernels of 64-bit machines are.
func isKernelAddress(ip []byte) bool { return len(ip) == 16 && ip[0]|0x20 == 'f' }

// kindOf says what sort of code a file holds, by the name that perf gives it.
func kindOf(dso string) stacks.Kind {
	base := dso[strings.LastIndexByte(dso, '/')+1:]
	switch {
	case strings.HasPrefix(dso, "[guest."):
		return stacks.KindGuest
	case strings.HasPrefix(dso, "[kernel"), strings.HasPrefix(base, "vmlinux"), strings.HasPrefix(base, "vmlinuz"):
		return stacks.KindKernel
	case dso == "[vdso]", dso == "[vdso32]", dso == "[vdsox32]":
		return stacks.KindVDSO
	case strings.HasPrefix(dso, "bpf_prog_"), dso == "[bpf]":
		return stacks.KindBPF
	case dso == "[heap]", dso == "[stack]", dso == "[vsyscall]":
		return stacks.KindAnon
	case strings.HasPrefix(dso, "["), strings.HasSuffix(base, ".ko"), strings.Contains(base, ".ko."):
		return stacks.KindModule
	case strings.HasPrefix(dso, "//anon"), strings.HasPrefix(dso, "/tmp/perf-") && strings.HasSuffix(dso, ".map"):
		return stacks.KindAnon
	}
	return stacks.KindUser
}
