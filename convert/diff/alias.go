package diff

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Aliases are names to be taken for others. The zero value has none.
type Aliases struct {
	to map[string]string // resolved: no value is a key
}

// of returns what a name is taken for.
func (a *Aliases) of(name string) string {
	if to, ok := a.to[name]; ok {
		return to
	}
	return name
}

// maxAliasLine bounds a line of a file of aliases, in bytes.
const maxAliasLine = 1 << 16

// ReadAliases reads lines of "NAME => OTHER": the function NAME of either profile
// is taken for OTHER. Blank lines and those that start with # are skipped. OTHER
// may be the NAME of another line; a loop is an error, and so is a NAME with two
// different OTHERs. Errors tell the line.
func ReadAliases(r io.Reader) (Aliases, error) {
	to := make(map[string]string)
	line := make(map[string]int)
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, maxAliasLine)
	n := 0
	for sc.Scan() {
		n++
		text := strings.TrimSpace(sc.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		from, other, ok := strings.Cut(text, "=>")
		from, other = strings.TrimSpace(from), strings.TrimSpace(other)
		switch old, twice := to[from]; {
		case !ok || from == "" || other == "" || strings.Contains(other, "=>"):
			return Aliases{}, fmt.Errorf("line %d: %.80q is not of the form NAME => OTHER", n, text)
		case from == other:
			return Aliases{}, fmt.Errorf("line %d: %s is an alias of itself", n, from)
		case twice && old != other:
			return Aliases{}, fmt.Errorf("line %d: %s is an alias of %s, but of %s in line %d", n, from, other, old, line[from])
		case !twice:
			to[from], line[from] = other, n
		}
	}
	if err := sc.Err(); errors.Is(err, bufio.ErrTooLong) {
		return Aliases{}, fmt.Errorf("line %d is longer than %d bytes", n+1, maxAliasLine)
	} else if err != nil {
		return Aliases{}, err
	}
	if err := aliasLoop(to, line); err != nil {
		return Aliases{}, err
	}
	for from := range to {
		end := to[from]
		for next, ok := to[end]; ok; next, ok = to[end] {
			end = next
		}
		to[from] = end
	}
	return Aliases{to}, nil
}

// aliasLoop looks for names that are, by way of others, aliases of themselves.
func aliasLoop(to map[string]string, line map[string]int) error {
	const onWay, ends = 1, 2
	state := make(map[string]int, len(to))
	for start := range to {
		var way []string
		at := start
		for state[at] == 0 {
			if _, ok := to[at]; !ok {
				break
			}
			state[at] = onWay
			way = append(way, at)
			at = to[at]
		}
		if state[at] == onWay {
			return loopError(at, to, line)
		}
		for _, name := range way {
			state[name] = ends
		}
	}
	return nil
}

// loopError tells a loop from its first line on.
func loopError(at string, to map[string]string, line map[string]int) error {
	first := at
	for name := to[at]; name != at; name = to[name] {
		if line[name] < line[first] {
			first = name
		}
	}
	text := first
	for i, name := 0, to[first]; ; i, name = i+1, to[name] {
		if text += " => " + name; name == first {
			break
		}
		if i == 8 {
			text += " => …"
			break
		}
	}
	return fmt.Errorf("line %d: a loop: %s", line[first], text)
}
