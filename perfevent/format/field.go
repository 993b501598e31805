package format

import (
	"fmt"
	"strconv"
	"strings"

	"kprof/perfevent/abi"
)

// Kind is what a field, or each element of an array, is.
type Kind uint8

const (
	Integer Kind = iota
	Pointer      // an address, of data or of code
	Char         // text, when it is an array
	Mask         // a bitmap of longs: a cpumask, a nodemask
	Opaque       // a structure or a type whose size is not known: bytes
)

// Place is where the bytes of a field lie.
type Place uint8

const (
	Inline   Place = iota // at Offset, Size bytes
	DataLoc               // __data_loc: a u32 at Offset has the place from the start of the record, and the size in its high half
	RelLoc                // __rel_loc: the same, counted from the end of the u32
	Trailing              // from Offset to the end of the record: "buf[]" of size 0
)

// Field is one field of an event. It is a value that is ready to read.
type Field struct {
	Name   string
	Type   string // as declared, without the name: "unsigned long", "char[16]", "__data_loc char[]"
	Offset int    // bytes, from the start of the payload
	Size   int    // bytes there; 0 when Trailing
	Signed bool   // integers only
	Kind   Kind
	Place  Place
	Array  bool
	Elem   int // bytes of one element, or of the only one
	Count  int // elements of an Inline array, 1 without an array, 0 when the record says

	order    abi.Order
	longSize uint8
	fetched  bool // by a probe
}

// parseField reads what follows "field:":
//
//	unsigned short common_type;	offset:0;	size:2;	signed:0;
//
// Kernels before 2.6.36 had no "signed".
func parseField(s string, m Machine) (f Field, reason string) {
	decl, attrs, ok := strings.Cut(s, ";")
	if !ok {
		return f, "a declaration without end"
	}
	f = Field{order: m.Order, longSize: uint8(m.LongSize), Offset: -1, Size: -1}
	signed := -1
	for attr := range strings.SplitSeq(attrs, ";") {
		key, value, ok := strings.Cut(strings.TrimSpace(attr), ":")
		if !ok {
			continue
		}
		most := maxOffset
		if key == "size" {
			most = m.MaxSize
		}
		n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 32)
		if err != nil || n > uint64(most) {
			switch key {
			case "offset", "size", "signed":
				return f, fmt.Sprintf("the %s of a field is not a number below %d", key, most+1)
			}
			continue
		}
		switch key {
		case "offset":
			f.Offset = int(n)
		case "size":
			f.Size = int(n)
		case "signed":
			signed = int(n)
		}
	}
	if f.Offset < 0 || f.Size < 0 {
		return f, "a field without offset or size"
	}
	if !f.declare(strings.TrimSpace(decl), m) {
		return f, "a declaration without name"
	}
	switch {
	case signed >= 0:
		f.Signed = signed != 0
	default:
		f.Signed = f.Kind == Integer && !isUnsigned(f.Type)
	}
	if f.Kind != Integer && f.Kind != Char {
		f.Signed = false
	}
	return f, ""
}

// declare reads a declaration of C: type, name and dimensions.
func (f *Field) declare(decl string, m Machine) bool {
	typ, dims := decl, ""
	if fn := strings.Index(decl, "(*"); fn >= 0 { // a pointer to a function: void (*func)(int)
		name, rest, ok := strings.Cut(decl[fn+2:], ")")
		f.Name, f.Type = strings.TrimSpace(name), decl[:fn]+"(*)"+rest
		f.Kind, f.Elem, f.Count = Pointer, f.Size, 1
		return ok && IsFieldName(f.Name)
	}
	if i := strings.IndexByte(decl, '['); i >= 0 && strings.HasSuffix(decl, "]") {
		typ, dims = strings.TrimSpace(decl[:i]), decl[i:]
	}
	i := strings.LastIndexAny(typ, " \t*]") + 1
	f.Name, typ = typ[i:], strings.TrimSpace(typ[:i])
	if !IsFieldName(f.Name) {
		return false
	}
	f.Type = typ + dims
	base := typ
	if rest, ok := strings.CutPrefix(base, "__data_loc"); ok {
		f.Place, base = DataLoc, rest
	} else if rest, ok := strings.CutPrefix(base, "__rel_loc"); ok {
		f.Place, base = RelLoc, rest
	}
	base = strings.TrimSpace(base)
	if i := strings.IndexByte(base, '['); i >= 0 {
		base, dims = strings.TrimSpace(base[:i]), base[i:]
	}
	elem, kind := sizeof(base, m.LongSize)
	f.Kind = kind
	f.Array = dims != "" || f.Place != Inline
	sized := true // elem is as declared, not a guess
	switch {
	case f.Place != Inline && f.Size != 4: // not the u32 that it must be
		f.Place, f.Array, f.Kind, elem = Inline, false, Opaque, f.Size
		f.Count, sized = 1, false
	case f.Place != Inline:
		sized = false
	case !f.Array && kind == Mask:
		f.Array, elem = true, m.LongSize
		f.Count = f.Size / elem
	case !f.Array && f.Size == 0 && elem > 0: // "char buf", of ftrace's own events before Linux 4.20
		f.Array, f.Place, sized = true, Trailing, false
	case !f.Array:
		elem, f.Count = f.Size, 1
	case f.Size == 0:
		f.Place, sized = Trailing, false
	default:
		if n := dimensions(dims); n > 0 && f.Size%n == 0 {
			elem = f.Size / n // whatever the type is called
		} else {
			sized = false
		}
		f.Count = f.Size / max(elem, 1)
	}
	f.Elem = max(elem, 1)
	number := elem == 1 || elem == 2 || elem == 4 || elem == 8
	switch {
	case sized && !number:
		f.Kind = Opaque
	case sized && kind == Opaque && !strings.HasPrefix(base, "struct ") && !strings.HasPrefix(base, "union "):
		f.Kind = Integer // a typedef of any name
	}
	return true
}

// dimensions multiplies "[4][8]"; 0 when they are not all numbers.
func dimensions(s string) int {
	n := 1
	for s != "" {
		inner, rest, ok := strings.Cut(strings.TrimSpace(s)[1:], "]")
		d, err := strconv.ParseUint(strings.TrimSpace(inner), 0, 17)
		if !ok || err != nil || d == 0 || n > maxOffset || (rest != "" && rest[0] != '[') {
			return 0
		}
		n *= int(d)
		s = rest
	}
	return n
}

// IsFieldName accepts what fields are called: identifiers, and the paths of nested structures: "graph_ent.func".
func IsFieldName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && c != '.' && (c < '0' || c > '9' || i == 0) && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return s != ""
}

// sizeof knows the integer types of C and of the kernel: bytes, 0 when unknown.
func sizeof(typ string, long int) (int, Kind) {
	if strings.HasSuffix(typ, "*") || strings.HasSuffix(typ, "*const") || strings.HasSuffix(typ, "* const") {
		return long, Pointer
	}
	longs, words, short := 0, 0, false
	size, kind := 0, Opaque
	for w := range strings.FieldsSeq(typ) {
		switch w {
		case "const", "volatile", "__attribute__((user))", "__user":
			continue
		case "unsigned", "signed", "int", "unsigned int":
			size = max(size, 4)
			kind = Integer
		case "long":
			longs++
		case "struct", "union":
			return 0, Opaque
		case "enum":
			return 4, Integer
		default:
			words++
			if n := scalar(w, long); n > 0 {
				size, kind = n, Integer
			}
			switch w {
			case "char":
				size, kind = 1, Char
			case "short":
				short = true
			case "cpumask_t", "nodemask_t":
				size, kind = long, Mask
			}
		}
	}
	if strings.Contains(typ, "unsigned char") || strings.Contains(typ, "signed char") {
		return 1, Integer // numbers: text is char
	}
	if short { // "short int" and "short unsigned int" too
		return 2, Integer
	}
	switch longs {
	case 0:
	case 1:
		if words == 0 {
			return long, Integer
		}
	default:
		return 8, Integer
	}
	return size, kind
}

// scalar is the size of a typedef of the kernel that is an integer everywhere.
func scalar(name string, long int) int {
	switch strings.TrimPrefix(name, "__") {
	case "u8", "s8", "uint8_t", "int8_t", "bool", "_Bool", "be8", "le8":
		return 1
	case "u16", "s16", "uint16_t", "int16_t", "be16", "le16", "ushort", "umode_t":
		return 2
	case "u32", "s32", "uint32_t", "int32_t", "be32", "le32", "uint", "dev_t", "gfp_t", "pid_t",
		"uid_t", "gid_t", "kernel_rwf_t", "blk_opf_t":
		return 4
	case "u64", "s64", "uint64_t", "int64_t", "be64", "le64", "loff_t", "sector_t", "ktime_t", "time64_t":
		return 8
	case "size_t", "ssize_t", "uintptr_t", "ulong", "off_t", "kernel_ulong_t", "ino_t", "clock_t", "pgoff_t":
		return long
	}
	return 0
}

// isUnsigned guesses for kernels that do not say.
func isUnsigned(typ string) bool {
	for w := range strings.FieldsSeq(typ) {
		w = strings.TrimPrefix(w, "__")
		switch {
		case w == "unsigned", w == "bool", w == "size_t", w == "dev_t", w == "sector_t", w == "gfp_t", w == "ulong",
			w == "ushort", w == "uid_t", w == "gid_t", w == "umode_t", w == "ino_t", w == "pgoff_t", w == "blk_opf_t",
			strings.HasPrefix(w, "be") && scalar(w, 8) > 0, strings.HasPrefix(w, "le") && scalar(w, 8) > 0,
			strings.HasPrefix(w, "uint"), len(w) > 1 && w[0] == 'u' && w[1] >= '0' && w[1] <= '9':
			return true
		}
	}
	return false
}

// TypeOf is what the kernel's integer types are: their size in bytes, 0 when the
// type is not known, and whether they have a sign.
func TypeOf(typ string, longSize int) (size int, signed bool, kind Kind) {
	size, kind = sizeof(typ, longSize)
	return size, kind != Pointer && !isUnsigned(typ), kind
}

// Scalar reports whether the field is one number: an integer, a pointer, a char.
func (f *Field) Scalar() bool {
	return !f.Array && f.Place == Inline && f.Kind != Opaque && f.Kind != Mask
}

// Text reports whether the field is text: an array of char.
func (f *Field) Text() bool { return f.Array && f.Kind == Char }
