package pprofui

import (
	"bytes"
	"flag"
	"fmt"
	"time"

	"github.com/google/pprof/driver"
	"github.com/google/pprof/profile"

	"kprof/convert/pprof"
	"kprof/convert/stacks"
)

// ManyStacks are more different stacks than pprof shows without taking its time.
const ManyStacks = 200_000

// Profiles are what the pages show: a profile, or what differs between it and
// another. They are kept as files in memory, since pprof changes what it is given.
type Profiles struct {
	shown, base []byte
}

// Empty reports whether there is nothing to show yet.
func (p *Profiles) Empty() bool { return p.shown == nil }

// Show takes the profile to show. The set is not kept.
func (p *Profiles) Show(set *stacks.Set) (err error) {
	p.shown, err = encode(set)
	return err
}

// Base takes the profile to show the difference from.
func (p *Profiles) Base(set *stacks.Set) (err error) {
	p.base, err = encode(set)
	return err
}

func encode(set *stacks.Set) ([]byte, error) {
	var b bytes.Buffer
	if err := pprof.Write(&b, set, pprof.WriteOptions{}); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// What pprof's driver knows the profiles by.
const (
	nameShown = "profile"
	nameBase  = "base"
)

// pages has pprof's driver make the pages, and serve serve them. The address is that
// of nobody: nothing is listened to here. Sealed pages are those of profiles of which
// no file can be opened by its name.
func (p *Profiles) pages(sealed bool, message func(string), serve func(*driver.HTTPServerArgs) error) error {
	args := []string{"-http=localhost:0", "-no_browser"}
	if p.base != nil {
		args = append(args, "-diff_base="+nameBase)
	}
	return driver.PProf(&driver.Options{
		Flagset:    &driverFlags{flag.NewFlagSet("pprof", flag.ContinueOnError), append(args, nameShown)},
		Fetch:      fetcher{p, sealed},
		Sym:        noSymbolizer{},
		Obj:        noObjects{},
		UI:         driverUI{message},
		HTTPServer: serve,
	})
}

// fetcher gives pprof the profiles by name: it neither looks for files nor keeps
// copies of them.
type fetcher struct {
	*Profiles
	sealed bool
}

// Fetch is a driver.Fetcher. That a profile comes from nowhere keeps pprof from
// saving a copy.
func (f fetcher) Fetch(name string, _, _ time.Duration) (*profile.Profile, string, error) {
	b := map[string][]byte{nameShown: f.shown, nameBase: f.base}[name]
	if b == nil {
		return nil, "", fmt.Errorf("no profile %q", name)
	}
	p, err := profile.ParseData(b)
	if err == nil && f.sealed {
		for _, fn := range p.Function {
			fn.Filename += seal
		}
	}
	return p, "", err
}
