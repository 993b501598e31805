package event

import (
	"cmp"
	"debug/elf"
	"fmt"
	"os"
	"slices"
	"strings"

	"kprof/perfevent/internal/errkind"
	"kprof/perfevent/spelling"
	"kprof/perfevent/tracefs"
)

// Probeable is a probe that can be made.
type Probeable struct {
	Name string // as ParseSpec takes it
	Kind string // "function", or "USDT" of one that is statically defined

	Readable string // what Resolver.Readable makes of the function's name, where that is another

	// Of one that is statically defined: at how many places it is, and how many arguments it
	// has, $arg1 and so on, at the one that has the fewest.
	Places, Arguments int
}

// probePlace is what a word selects of the functions of the kernel, or of a program.
type probePlace struct {
	prefix string // such as "uprobe:"; of the kernel's also what follows up to the last colon
	path   string // of a program
	glob   string
	static bool // statically defined probes
	opened bool // path is there, and behind it a colon
}

// parsePlace takes apart a word that begins like a probe; ok is false of other ones.
func parsePlace(word string) (p probePlace, ok bool) {
	for _, prefix := range []string{"kprobe:", "kretprobe:", "uprobe:", "uretprobe:", usdtPrefix} {
		rest, ok := strings.CutPrefix(word, prefix)
		switch {
		case !ok:
			continue
		case prefix[0] == 'k':
			i := strings.LastIndexByte(rest, ':') + 1
			return probePlace{prefix: prefix + rest[:i], glob: rest[i:]}, true
		}
		p := probePlace{prefix: prefix, path: rest, static: prefix == usdtPrefix}
		for i := len(rest) - 1; i > 0 && !isFile(p.path); i-- {
			if rest[i] == ':' {
				p.path, p.glob, p.opened = rest[:i], rest[i+1:], isFile(rest[:i])
			}
		}
		return p, true
	}
	return p, false
}

func isFile(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular()
}

// Probeable returns the probes that can be made of what a word selects, sorted by name:
//
//	kprobe:[MODULE:]GLOB  kretprobe:…
//	uprobe:PATH[:GLOB]    uretprobe:…
//	usdt:PATH[:GLOB]      where GLOB is of PROVIDER:NAME or NAME
//
// A GLOB is one of tracefs.MatchName. That nothing matches is an error. Of a word that begins
// otherwise ok is false.
func (r *Resolver) Probeable(word string) (found []Probeable, ok bool, err error) {
	p, ok := parsePlace(word)
	if !ok {
		return nil, false, nil
	}
	match, err := tracefs.MatchName(p.glob)
	if err != nil {
		return nil, true, err
	}
	all, err := r.allProbeable(p)
	if err != nil {
		return nil, true, err
	}
	where := cmp.Or(p.path, "this kernel")
	if len(all) == 0 {
		return nil, true, errkind.Errorf(os.ErrNotExist, "%s has no %s that could be probed", where, p.what())
	}
	var names []string
	for _, one := range all {
		name := strings.TrimPrefix(one.Name, p.prefix)
		if p.path != "" {
			name = name[len(p.path)+1:]
		}
		_, alone, _ := strings.Cut(name, ":")
		names = append(names, name)
		if p.static {
			names = append(names, alone)
		} else if one.Readable != "" {
			names = append(names, one.Readable)
		}
		if match(name) || p.static && match(alone) || one.Readable != "" && match(one.Readable) {
			found = append(found, one)
		}
	}
	if len(found) == 0 {
		return nil, true, errkind.Errorf(os.ErrNotExist, "none of the %d %s of %s matches %q%s", len(all), p.what(), where, p.glob, spelling.Question(spelling.Closest(p.glob, names)))
	}
	return found, true, nil
}

// what are what p selects from.
func (p *probePlace) what() string {
	if p.static {
		return "statically defined probes"
	}
	return "functions"
}

// allProbeable are the probes that can be made, whatever glob p has.
func (r *Resolver) allProbeable(p probePlace) (all []Probeable, err error) {
	if p.path == "" {
		return r.kernelProbeable(p)
	}
	f, e, err := openProgram(p.path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // read only: nothing to lose
	before := p.prefix + p.path + ":"
	if !p.static {
		funcs, err := functionsOf(e)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.path, err)
		}
		for _, fn := range funcs {
			if _, ok := segmentOffset(e, fn.Value, elf.PF_X); ok && !isColdPart(fn.Name) {
				one := Probeable{Name: before + fn.Name, Kind: "function"}
				if r.Readable != nil {
					if readable := r.Readable(fn.Name); readable != fn.Name {
						one.Readable = readable
					}
				}
				all = append(all, one)
			}
		}
		return sorted(all), nil
	}
	probes, err := readUSDT(e)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.path, err)
	}
	index := map[string]int{} // of a name
	for _, u := range probes {
		args := len(usdtOperands(u.args))
		one := Probeable{Name: before + u.String(), Kind: "USDT", Places: 1, Arguments: args}
		if i, known := index[one.Name]; known {
			all[i].Places++
			all[i].Arguments = min(all[i].Arguments, args)
			continue
		}
		index[one.Name] = len(all)
		all = append(all, one)
	}
	return sorted(all), nil
}

// kernelProbeable are the functions of the kernel, or of a module, that may be probed.
func (r *Resolver) kernelProbeable(p probePlace) (all []Probeable, err error) {
	if err := r.probePMU(&Event{}); err != nil {
		return nil, err
	}
	_, module, _ := strings.Cut(strings.TrimSuffix(p.prefix, ":"), ":")
	names, _, err := r.probeable(module, "*")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		all = append(all, Probeable{Name: p.prefix + name, Kind: "function"})
	}
	return sorted(all), nil
}

// sorted is all by name, each name once.
func sorted(all []Probeable) []Probeable {
	slices.SortFunc(all, func(a, b Probeable) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(all, func(a, b Probeable) bool { return a.Name == b.Name })
}
