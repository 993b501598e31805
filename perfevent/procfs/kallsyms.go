package procfs

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"

	"kprof/perfevent/textlimit"
)

// A Symbol is a line of /proc/kallsyms, such as "ffffffffc0000000 t init\t[fuse]"
// (kernel/kallsyms.c, s_show). Its texts are parts of the line.
type Symbol struct {
	Addr   uint64 // at run time; 0 where the kernel hides it (kernel.kptr_restrict)
	Type   byte   // as nm prints it; 'A' and 'a' are absolute, offsets in per-cpu data among them
	Name   []byte // never empty
	Module []byte // without brackets, not always that of a module: see Loadable; nil for the kernel itself
	Line   []byte // as it was read, with its newline
	Offset int64  // of the line in the input
}

// Function reports whether the symbol is in the text, by its type; not all that is
// there is a function.
func (s *Symbol) Function() bool {
	switch s.Type {
	case 'T', 't', 'W', 'w':
		return true
	}
	return false
}

// Loadable reports whether Module is a module that can be loaded. BPF programs, and
// trampolines of ftrace and kprobes, are listed like modules: "[bpf]",
// "[__builtin__ftrace]".
func (s *Symbol) Loadable() bool {
	return len(s.Module) > 0 && string(s.Module) != "bpf" && !bytes.HasPrefix(s.Module, []byte("__builtin__"))
}

// A FormatError reports a line that is not as the kernel writes it.
type FormatError struct {
	File   string // "kallsyms", "modules"
	Offset int64  // byte offset of the line in the input
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("malformed %s line at byte %d", e.File, e.Offset)
}

// lineSize is longer than any symbol: KSYM_NAME_LEN is 512.
const lineSize = 1 << 16

// ReadSymbols calls yield for each line of kallsyms text, in its order, until it
// returns false. A Symbol is valid during the call.
//
// A line that cannot be read is left out and the first of them reported as a
// *FormatError, when all others were read; an error of r ends the reading, and so does a
// line of more than textlimit.MaxLine.
func ReadSymbols(r io.Reader, yield func(*Symbol) bool) error {
	br := bufio.NewReaderSize(textlimit.NewReader(r), lineSize)
	var (
		first error
		s     Symbol
		next  int64
	)
	for {
		line, err := br.ReadSlice('\n')
		offset := next
		next += int64(len(line))
		whole := true
		for err == bufio.ErrBufferFull { // pass over the rest of the line
			line, err = br.ReadSlice('\n')
			next += int64(len(line))
			whole = false
		}
		switch {
		case next == offset:
		case whole && s.parse(line):
			s.Offset = offset
			if !yield(&s) {
				return first
			}
		case first == nil:
			first = &FormatError{File: "kallsyms", Offset: offset}
		}
		if err == io.EOF {
			return first
		}
		if err != nil {
			return fmt.Errorf("at byte %d: %w", next, err)
		}
	}
}

// ParseSymbol reads one line of kallsyms text, with or without its newline.
func ParseSymbol(line []byte) (s Symbol, ok bool) {
	ok = s.parse(line)
	return s, ok
}

// parse reads "ADDRESS TYPE NAME", and "[MODULE]" after a tab: or after blanks, as
// what was printed anew may have it. There is no blank in a name.
func (s *Symbol) parse(line []byte) bool {
	addr, n := parseHex(line)
	if n == 0 || len(line) < n+4 || line[n] != ' ' || line[n+2] != ' ' {
		return false
	}
	end := len(line)
	for end > n+3 && isBlank(line[end-1]) {
		end--
	}
	name := line[n+3 : end]
	if len(name) == 0 {
		return false
	}
	var module []byte
	if name[len(name)-1] == ']' {
		if i := bytes.IndexByte(name, '['); i > 0 && isBlank(name[i-1]) {
			name, module = bytes.TrimRight(name[:i], " \t"), name[i+1:len(name)-1]
			if len(name) == 0 || len(module) == 0 {
				return false
			}
		}
	}
	if bytes.IndexByte(name, ' ') >= 0 || bytes.IndexByte(name, '\t') >= 0 {
		return false
	}
	s.Addr, s.Type, s.Name, s.Module, s.Line = addr, line[n+1], name, module, line
	return true
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// hexDigits is the value of each digit, and 16 for what is none.
var hexDigits = func() (t [256]uint8) {
	for c := range t {
		t[c] = 16
	}
	for i, c := range "0123456789abcdef" {
		t[c] = uint8(i)
	}
	for i, c := range "ABCDEF" {
		t[c] = uint8(10 + i)
	}
	return t
}()

// parseHex reads the hexadecimal number at the start of b. n is the number of
// its digits; 0 if there is none, or if there are more than 64 bits.
func parseHex(b []byte) (v uint64, n int) {
	for _, c := range b[:min(len(b), 17)] {
		digit := hexDigits[c]
		if digit == 16 {
			return v, n
		}
		v = v<<4 | uint64(digit)
		n++
	}
	if n > 16 {
		return 0, 0
	}
	return v, n
}

// ModuleName returns the name of a module as the kernel writes it, from "[name]" or
// the path of its file, in which "-" may stand for "_"; empty if path is neither. It
// never holds a slash.
func ModuleName(path string) string { return string(AppendModuleName(nil, path)) }

// AppendModuleName appends what ModuleName returns.
func AppendModuleName(dst []byte, path string) []byte {
	name, ok := strings.CutPrefix(path, "[")
	if ok {
		name = strings.TrimSuffix(name, "]")
	} else if name, _, ok = strings.Cut(path[strings.LastIndexByte(path, '/')+1:], ".ko"); !ok {
		return dst
	}
	if strings.Contains(name, "/") {
		return dst
	}
	for _, c := range []byte(name) {
		if c == '-' {
			c = '_'
		}
		dst = append(dst, c)
	}
	return dst
}
