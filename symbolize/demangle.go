package symbolize

import (
	"strings"
	"sync"

	"github.com/ianlancetaylor/demangle"
)

// Demangle says how names of C++, Rust and OCaml are shown.
type Demangle uint8

const (
	// DemangleSimple leaves out parameters and what the compiler appended to
	// clones, as perf script does: "ns::Type<int>::method".
	DemangleSimple Demangle = iota
	// DemangleFull shows parameters, return types of templates and clones.
	DemangleFull
	// DemangleNone shows names as the linker knows them.
	DemangleNone
)

// maxReadable bounds demangled names, as a power of two: a few bytes can
// describe a name that fills all memory.
const maxReadable = 14

// demangler turns linker names into readable ones, each once. It may be used
// concurrently.
type demangler struct {
	mode Demangle
	mu   sync.Mutex
	seen map[string]string
}

func newDemangler(mode Demangle) *demangler {
	return &demangler{mode: mode, seen: map[string]string{}}
}

// Readable returns the readable form of a name as the linker knows it.
func (m Demangle) Readable(name string) string {
	return newDemangler(m).name(name)
}

// name returns the readable form of a name, and remembers it.
func (d *demangler) name(name string) string {
	if d.mode == DemangleNone || !mangled(name) {
		return name
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	readable, ok := d.seen[name]
	if !ok {
		readable = d.convert(name)
		d.seen[name] = readable
	}
	return readable
}

// mangled reports whether name may be one to convert.
func mangled(name string) bool {
	return strings.HasPrefix(name, "_Z") || strings.HasPrefix(name, "_R") ||
		strings.HasPrefix(name, "___Z") || strings.HasPrefix(name, "_GLOBAL_") ||
		isOCaml(name)
}

// convert returns the readable form of a name.
func (d *demangler) convert(name string) string {
	if d.mode == DemangleNone || !mangled(name) {
		return name
	}
	if isOCaml(name) {
		return convertOCaml(name)
	}
	if readable, ok := convertLegacyRust(name); ok {
		return readable
	}
	if strings.HasPrefix(name, "_R") {
		if readable, ok := convertRust(name); ok {
			return readable
		}
		return name
	}
	options := []demangle.Option{demangle.MaxLength(maxReadable)}
	if d.mode == DemangleSimple {
		options = append(options, demangle.NoParams)
	}
	return demangle.Filter(name, options...)
}

const prefixOCaml = "caml"

// isOCaml reports whether name is one of the OCaml compiler: "caml" and a
// module, which starts with a capital.
func isOCaml(name string) bool {
	module, ok := strings.CutPrefix(name, prefixOCaml)
	return ok && module != "" && 'A' <= module[0] && module[0] <= 'Z'
}

// convertOCaml turns "camlStdlib__List__map_1234" into "Stdlib.List.map_1234",
// and "$2b" into "+".
func convertOCaml(name string) string {
	name = strings.TrimPrefix(name, prefixOCaml)
	var b strings.Builder
	for i := 0; i < len(name); {
		switch {
		case strings.HasPrefix(name[i:], "__"):
			b.WriteByte('.')
			i += 2
		case name[i] == '$' && i+2 < len(name):
			hi, ok1 := hexDigit(name[i+1])
			lo, ok2 := hexDigit(name[i+2])
			if ok1 && ok2 {
				b.WriteByte(hi<<4 | lo)
				i += 3
				continue
			}
			fallthrough
		default:
			b.WriteByte(name[i])
			i++
		}
	}
	return b.String()
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
