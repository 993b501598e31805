// Package syscalls names system calls by their numbers, which each architecture has of its
// own.
package syscalls

import (
	"strconv"
	"strings"
	"sync"
)

// Table has the system calls of one architecture. Nil has none.
type Table struct {
	names   []string
	numbers map[string]uint64
}

// machines says which table the machines of uname -m have whose name is not that of their
// architecture in Go.
var machines = map[string]string{
	"x86_64": "amd64", "aarch64": "arm64", "loongarch64": "loong64", "ppc64le": "ppc64",
	"i386": "386", "i486": "386", "i586": "386", "i686": "386", "mips64le": "mips64",
}

var parsed sync.Map // of *Table, by name of the table

// Of returns the table of a machine, as uname -m or Go calls it; nil for one that is not
// known. A kernel of 64 bits that also runs programs of 32 has numbers of another table, that of
// i386 or arm, in the events of their calls, which do not say so: as calls of machine
// these have wrong names.
func Of(machine string) *Table {
	name := machine
	if known, ok := machines[machine]; ok {
		name = known
	} else if strings.HasPrefix(machine, "arm") && machine != "arm64" {
		name = "arm" // armv7l
	}
	text, ok := tables[name]
	if !ok {
		return nil
	}
	if t, ok := parsed.Load(name); ok {
		return t.(*Table)
	}
	t, _ := parsed.LoadOrStore(name, parse(text))
	return t.(*Table)
}

func parse(text string) *Table {
	t := &Table{numbers: map[string]uint64{}}
	at := 0 // the number of the next word
	for word := range strings.FieldsSeq(text) {
		if n, ok := strings.CutPrefix(word, "@"); ok {
			at, _ = strconv.Atoi(n)
			continue
		}
		if word == "-" {
			word = ""
		}
		if at >= len(t.names) {
			t.names = append(t.names, make([]string, at+1-len(t.names))...)
		}
		t.names[at] = word
		at++
	}
	for n, name := range t.names {
		if name != "" {
			t.numbers[name] = uint64(n)
		}
	}
	return t
}

// Name is that of a system call; false for a number that has none.
func (t *Table) Name(n uint64) (string, bool) {
	if t == nil || n >= uint64(len(t.names)) || t.names[n] == "" {
		return "", false
	}
	return t.names[n], true
}

// Number is that of the system call of a name.
func (t *Table) Number(name string) (uint64, bool) {
	if t == nil {
		return 0, false
	}
	n, ok := t.numbers[name]
	return n, ok
}

// Names are those of all system calls, in the order of their numbers.
func (t *Table) Names() (names []string) {
	if t == nil {
		return nil
	}
	for _, n := range t.names {
		if n != "" {
			names = append(names, n)
		}
	}
	return names
}
