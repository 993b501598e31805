package event

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"kprof/perfevent/internal/errkind"
	"kprof/perfevent/lazyregexp"
)

// usdt is a statically defined probe of a program: one place of it, since the
// compiler may have made several.
type usdt struct {
	provider, name string
	args           string // as the note has them: "-4@%edi 8@-16(%rbp)"
	vaddr, off     uint64 // where it is, in the ELF file's addresses and in the file
	counter        uint64 // where its semaphore is, 0 for none: a 16-bit number that is not 0 while somebody watches
}

// String is what it is called.
func (u usdt) String() string { return u.provider + ":" + u.name }

// stapsdt is the type and the owner of the notes that describe such probes
// (https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation), each:
//
//	pc, base, semaphore   addresses
//	provider, name, args  strings, each with a 0 behind it
//
// base is where .stapsdt.base was when the note was written: prelink moves
// sections, but does not know these notes.
const (
	stapsdtType  = 3
	stapsdtOwner = "stapsdt\x00"
)

// readUSDT reads the probes of a program, in the order of its notes.
func readUSDT(e *elf.File) ([]usdt, error) {
	sec := e.Section(".note.stapsdt")
	if sec == nil {
		return nil, nil
	}
	b, err := sec.Data()
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", sec.Name, err)
	}
	var base uint64
	if s := e.Section(".stapsdt.base"); s != nil {
		base = s.Addr
	}
	all, err := parseUSDT(e, b, base)
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", sec.Name, err)
	}
	return all, nil
}

// parseUSDT parses the section of notes; base is where .stapsdt.base is now, 0
// when there is none.
func parseUSDT(e *elf.File, b []byte, base uint64) (all []usdt, err error) {
	known := map[usdt]bool{}
	for at := 0; at < len(b); {
		note, n, ok := cutNote(b[at:], e)
		if !ok {
			return nil, errkind.Errorf(os.ErrInvalid, "note at %#x is cut short", at)
		}
		at += n
		if note == nil {
			continue
		}
		pc, noteBase, counter, u, ok := parseStapsdt(note, e)
		if !ok {
			return nil, errkind.Errorf(os.ErrInvalid, "note before %#x: no addresses and names", at)
		}
		shift := uint64(0)
		if base != 0 {
			shift = base - noteBase
		}
		u.vaddr = pc + shift
		if u.off, ok = segmentOffset(e, u.vaddr, elf.PF_X); !ok {
			return nil, errkind.Errorf(os.ErrInvalid, "probe %s lies at %#x, in no executable segment", u, u.vaddr)
		}
		if counter != 0 {
			if u.counter, ok = segmentOffset(e, counter+shift, elf.PF_W); !ok {
				return nil, errkind.Errorf(os.ErrInvalid, "semaphore of probe %s lies at %#x, in no writable segment", u, counter+shift)
			}
		}
		if !known[u] {
			known[u] = true
			all = append(all, u)
		}
	}
	return all, nil
}

// cutNote cuts the first note off b: three words, the sizes of owner and
// description and a type, then these two, each padded to four bytes. n is its
// length, and note its description; nil if it is none of ours.
func cutNote(b []byte, e *elf.File) (note []byte, n int, ok bool) {
	if len(b) < 12 {
		return nil, 0, false
	}
	owner, desc, typ := uint64(e.ByteOrder.Uint32(b)), uint64(e.ByteOrder.Uint32(b[4:])), e.ByteOrder.Uint32(b[8:])
	begin := 12 + (owner+3)&^3
	end := begin + desc
	if end > uint64(len(b)) {
		return nil, 0, false
	}
	if typ == stapsdtType && string(b[12:12+owner]) == stapsdtOwner {
		note = b[begin:end]
	}
	return note, int(min((end+3)&^3, uint64(len(b)))), true
}

func parseStapsdt(b []byte, e *elf.File) (pc, base, counter uint64, u usdt, ok bool) {
	word := func() (v uint64) {
		if e.Class == elf.ELFCLASS64 {
			v, b = e.ByteOrder.Uint64(b), b[8:]
		} else {
			v, b = uint64(e.ByteOrder.Uint32(b)), b[4:]
		}
		return v
	}
	if len(b) < 3*8 && (e.Class == elf.ELFCLASS64 || len(b) < 3*4) {
		return 0, 0, 0, u, false
	}
	pc, base, counter = word(), word(), word()
	text := bytes.SplitN(b, []byte{0}, 4)
	if len(text) < 4 || len(text[0]) == 0 || len(text[1]) == 0 {
		return 0, 0, 0, u, false
	}
	u.provider, u.name, u.args = string(text[0]), string(text[1]), string(text[2])
	return pc, base, counter, u, true
}

// segmentOffset is where a file has what is loaded at vaddr, in a segment with that
// flag.
func segmentOffset(e *elf.File, vaddr uint64, flag elf.ProgFlag) (off uint64, ok bool) {
	for _, seg := range e.Progs {
		if seg.Type == elf.PT_LOAD && seg.Flags&flag != 0 && vaddr-seg.Vaddr < seg.Filesz {
			return vaddr - seg.Vaddr + seg.Off, true
		}
	}
	return 0, false
}

// usdtArgument is $arg1 in what somebody asks to fetch.
var usdtArgument = lazyregexp.New(`\$arg([0-9]+)`)

// fetch replaces $arg1, $arg2, … in fetch arguments by where the note of a probe of
// the program e has them. One that stands alone gets its name and its type.
func (u usdt) fetch(e *elf.File, asked string) (string, error) {
	operands := usdtOperands(u.args)
	words := strings.Fields(asked)
	for i, w := range words {
		var failed error
		words[i] = usdtArgument().ReplaceAllStringFunc(w, func(arg string) string {
			n, err := strconv.Atoi(arg[len("$arg"):])
			if err != nil || n < 1 || n > len(operands) {
				failed = errkind.Errorf(os.ErrInvalid, "%s: the probe has %d arguments", arg, len(operands))
				return arg
			}
			o := operands[n-1]
			fetch, err := u.fetchOperand(e, o)
			if err != nil {
				failed = fmt.Errorf("%s: %w", arg, err)
				return arg
			}
			label, body, labelled := strings.Cut(w, "=")
			if !labelled {
				label, body = arg[1:], w
			}
			if body == arg {
				fetch += ":" + o.typ
			}
			if !labelled && (body == arg || strings.HasPrefix(w, arg+":")) {
				return label + "=" + fetch
			}
			return fetch
		})
		if failed != nil {
			return "", failed
		}
	}
	return strings.Join(words, " "), nil
}

// operand is an argument of a probe: SIZE@PLACE, where a negative size is that of
// a signed number and the place is in the language of the assembler.
type operand struct {
	typ   string // as the kernel's fetch arguments have it; empty for floating point
	place string
}

var operandText = lazyregexp.New(`(?:(-?)([1248])(f?)@)?(\[[^\]]*\]|[^\s@]+)`)

func usdtOperands(note string) []operand {
	var all []operand
	for _, m := range operandText().FindAllStringSubmatch(note, -1) {
		o := operand{typ: "u64", place: m[4]}
		if m[2] != "" {
			size, _ := strconv.Atoi(m[2]) // one digit
			o.typ = fmt.Sprintf("u%d", 8*size)
			if m[1] == "-" {
				o.typ = "s" + o.typ[1:]
			}
		}
		if m[3] != "" {
			o.typ = ""
		}
		all = append(all, o)
	}
	return all
}

var (
	x86Memory     = lazyregexp.New(`^(-?(?:0x[0-9a-f]+|[0-9]+))?\(%([a-z0-9]+)\)$`)
	x86Indexed    = lazyregexp.New(`\(%[a-z0-9]*,|\(,`)
	x86Variable   = lazyregexp.New(`^(?:(-?(?:0x[0-9a-f]+|[0-9]+))\+)?([A-Za-z_.][A-Za-z0-9_.$]*)([+-](?:0x[0-9a-f]+|[0-9]+))?(?:\(%rip\))?$`)
	arm64Register = lazyregexp.New(`^(?:[xw]([0-9]+)|(sp))$`)
	arm64Memory   = lazyregexp.New(`^\[(x[0-9]+|sp)(?:, ?#?(-?[0-9]+))?\]$`)
	arm64Indexed  = lazyregexp.New(`^\[(?:x[0-9]+|sp), ?[xw][0-9]`)
)

// fetchOperand is o, an argument of u, in the language of the kernel's fetch arguments.
func (u usdt) fetchOperand(e *elf.File, o operand) (string, error) {
	if o.typ == "" {
		return "", errkind.Errorf(os.ErrInvalid, "%q is floating point, which the kernel cannot fetch", o.place)
	}
	indexed := false
	switch e.Machine {
	case elf.EM_X86_64, elf.EM_386:
		if imm, ok := strings.CutPrefix(o.place, "$"); ok && isNumber(imm) {
			return `\` + imm, nil
		}
		if name, ok := strings.CutPrefix(o.place, "%"); ok {
			if reg := x86Register(name); reg != "" {
				return "%" + reg, nil
			}
		}
		if m := x86Memory().FindStringSubmatch(o.place); m != nil && x86Register(m[2]) != "" {
			return memory(m[1], x86Register(m[2])), nil
		}
		if m := x86Variable().FindStringSubmatch(o.place); m != nil {
			return u.variable(e, m[2], m[1], m[3]) // 8+name(%rip) as GNU's tools write it, name+8(%rip) as LLVM's
		}
		indexed = x86Indexed().MatchString(o.place)
	case elf.EM_AARCH64:
		if m := arm64Register().FindStringSubmatch(o.place); m != nil {
			if m[2] != "" {
				return "%sp", nil
			}
			return "%x" + m[1], nil
		}
		if m := arm64Memory().FindStringSubmatch(o.place); m != nil {
			return memory(m[2], m[1]), nil
		}
		if isNumber(o.place) {
			return `\` + o.place, nil
		}
		indexed = arm64Indexed().MatchString(o.place)
	}
	if indexed {
		return "", errkind.Errorf(os.ErrInvalid, "the kernel cannot fetch %q: its fetch arguments add no more than a constant to a register", o.place)
	}
	return "", errkind.Errorf(os.ErrInvalid, "the kernel cannot fetch %q", o.place)
}

// variable is what e has in the variable name, or behind it by the sum of the offsets, in
// bytes, as a fetch argument of u: @+N, of which the kernel takes N to be as far from the
// probe's offset in the file as the memory is from the probe (kernel/trace/trace_uprobe.c,
// translate_user_vaddr). So N is reckoned from the distance in memory, whatever segment the
// variable is in.
func (u usdt) variable(e *elf.File, name string, offsets ...string) (string, error) {
	symtab, err := e.Symbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return "", err
	}
	dynsym, err := e.DynamicSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return "", err
	}
	var places []uint64
	for _, s := range slices.Concat(symtab, dynsym) {
		if s.Name == name && s.Section != elf.SHN_UNDEF && elf.ST_TYPE(s.Info) != elf.STT_TLS && !slices.Contains(places, s.Value) {
			places = append(places, s.Value)
		}
	}
	switch {
	case len(places) == 0:
		return "", errkind.Errorf(os.ErrNotExist, "%s, where the argument is, is not among the symbols of the program", name)
	case len(places) > 1:
		return "", errkind.Errorf(os.ErrInvalid, "the argument is in %s, of which the program has %d", name, len(places))
	}
	at := u.off + places[0] - u.vaddr
	for _, off := range offsets {
		if off == "" {
			continue
		}
		n, err := strconv.ParseInt(off, 0, 64)
		if err != nil {
			return "", errkind.Errorf(os.ErrInvalid, "the kernel cannot fetch what is %s bytes from %s", off, name)
		}
		at += uint64(n)
	}
	return fmt.Sprintf("@+%d", int64(at)), nil
}

func isNumber(s string) bool {
	_, err := strconv.ParseInt(s, 0, 64)
	return err == nil
}

func memory(off, reg string) string {
	if !strings.HasPrefix(off, "-") {
		off = "+" + off
	}
	if off == "+" {
		off = "+0"
	}
	return off + "(%" + reg + ")"
}

// x86Register is what the kernel calls a register, or a part of one (arch/x86/
// kernel/ptrace.c, regoffset_table): ax for rax, eax, ax and al, r8 for r8d.
// Second bytes such as ah have no name there.
func x86Register(name string) string {
	if n, ok := strings.CutPrefix(name, "r"); ok && n != "" && strings.Trim(n[:1], "189") == "" {
		n = strings.TrimRight(n, "dwb")
		if i, err := strconv.Atoi(n); err == nil && i >= 8 && i <= 15 {
			return "r" + n
		}
		return ""
	}
	for _, reg := range []string{"ax", "bx", "cx", "dx", "si", "di", "bp", "sp"} {
		low := reg[:1] + "l" // al
		if reg[1] != 'x' {
			low = reg + "l" // sil
		}
		if name == reg || name == "e"+reg || name == "r"+reg || name == low {
			return reg
		}
	}
	return ""
}
