package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"

	"kprof/convert"
	"kprof/convert/export"
	"kprof/convert/page"
	"kprof/convert/pprofui"
	"kprof/convert/stacks"
)

// shownPages is what kprof view serves: pages of ours, and behind them those of pprof.
type shownPages struct {
	onlyPprof bool
	sources   *os.Root    // for pprof, nil for none
	given     [][2]string // flags with which inputs are read
	sourceURL page.Source // where source is looked at

	bases *viewBases // to compare with, nil for none

	tabs     *page.Tabs
	profiles pprofui.Profiles
	// What pprof takes while the page is looked at already, and what is its base; lazy if that
	// waits until somebody asks for it.
	later, laterBase func() (*profile, error)
	lazy             bool
	read             func()        // called when the input has been read, and its page is being made
	made             chan struct{} // closed when all pages of inputs are made; nil before inputs are shown
	recording        chan struct{} // closed when what is shown is whole; nil if it is from the start
	recorded         *profile      // to be shown by then
}

// empty reports whether there is nothing to show.
func (s *shownPages) empty() bool {
	return s.recorded == nil && s.profiles.Empty() && (s.tabs == nil || s.tabs.Empty())
}

// needs adds to the options of a conversion what pages show.
func (s *shownPages) needs(o *convert.Options, sym *symbolOptions) {
	(&output{format: s.format(), keep: s.keep}).needs(o, sym)
}

// format is what pages show as much of as.
func (s *shownPages) format() format {
	if s.onlyPprof {
		return export.Pprof
	}
	return export.HTML
}

// inputs shows inputs: their sum, and each.
func (s *shownPages) inputs(ctx context.Context, inputs []string, opts convert.Options, sym symbolOptions) error {
	if os.Getenv("GOGC") == "" {
		// What is kept are few large tables without pointers, which take no time to collect
		// around: less garbage costs nothing, and there may be hundreds of MB of them.
		debug.SetGCPercent(20)
	}
	again := readAgain(ctx, inputs, opts, sym) // as they were before they are read
	s.made = make(chan struct{})
	if err := s.showInputs(ctx, inputs, opts, sym); err != nil {
		return err
	}
	defer close(s.made)
	if again != nil && s.laterBase == nil && !s.onlyPprof {
		s.later, s.lazy = again, true
	}
	return nil
}

func (s *shownPages) showInputs(ctx context.Context, inputs []string, opts convert.Options, sym symbolOptions) error {
	if s.onlyPprof {
		p, err := loadSum(ctx, inputs, opts, sym)
		if err != nil {
			return err
		}
		return s.encode(p)
	}
	if s.bases != nil {
		var all []*profile
		for _, in := range inputs {
			p, err := load(ctx, in, opts, sym)
			if err != nil {
				return err
			}
			all = append(all, p)
		}
		return s.difference(all, inputs)
	}
	if len(inputs) == 1 {
		p, err := load(ctx, inputs[0], opts, sym)
		if err != nil {
			return err
		}
		if s.read != nil { // a browser has started when the page is there
			s.newTabs([]string{"profile"})
			s.read()
		}
		return s.show(p, inputs)
	}
	s.newTabs(append([]string{"all"}, names(inputs)...))
	sum := convert.NewSum(convert.SumOptions{})
	for i, in := range inputs {
		p, err := load(ctx, in, opts, sym)
		if err != nil {
			return err
		}
		if err := s.writeTab(i+1, p, names(inputs)[i], inputs[i:i+1]); err != nil {
			return fmt.Errorf("%s: %w", in, err)
		}
		if err := sum.Add(p.Profile); err != nil {
			return fmt.Errorf("%s: %w", in, err)
		}
	}
	all := &profile{sum.Profile()}
	if err := s.writeTab(0, all, fmt.Sprintf("%d inputs", len(inputs)), inputs); err != nil {
		return err
	}
	s.later = addedUp([]*profile{all})
	return nil
}

// names are short names of inputs: what of their paths differs, at least the last part.
func names(inputs []string) []string {
	short := make([]string, len(inputs))
	for parts := 1; ; parts++ {
		seen, again := map[string]bool{}, false
		for i, in := range inputs {
			words := strings.Split(filepath.ToSlash(filepath.Clean(in)), "/")
			short[i] = strings.Join(words[max(len(words)-parts, 0):], "/")
			again = again || seen[short[i]] && len(words) > parts
			seen[short[i]] = true
		}
		if !again {
			return short
		}
	}
}

// keep shows one profile, of what was recorded; while pages show that already, finish does.
func (s *shownPages) keep(p *profile) error {
	if s.recording != nil {
		s.recorded = p
		return nil
	}
	return s.show(p, nil)
}

// finish shows what was recorded, on pages that have shown what there was so far. If nothing was
// kept of it, they say that it has ended.
func (s *shownPages) finish() (err error) {
	if s.recording == nil {
		return nil
	}
	if s.recorded != nil {
		err = s.show(s.recorded, nil)
		s.recorded = nil
	}
	if s.tabs != nil {
		s.tabs.End()
	}
	close(s.recording)
	return err
}

// show shows one profile, of some inputs.
func (s *shownPages) show(p *profile, inputs []string) error {
	if s.onlyPprof {
		return s.encode(p)
	}
	if s.bases != nil {
		return s.difference([]*profile{p}, inputs)
	}
	if s.tabs == nil { // else they are looked at already
		s.newTabs([]string{"profile"})
	}
	if err := s.writeTab(0, p, "", inputs); err != nil {
		return err
	}
	s.later = addedUp([]*profile{p})
	return nil
}

// showLive shows what there is so far of a recording, from which the times of some samples were left out.
func (s *shownPages) showLive(p *profile, leftTimes int) error {
	if s.tabs == nil {
		s.newTabs([]string{"profile"})
	}
	o := page.Options{TimesHint: timesHint, LeftTimes: leftTimes, Event: p.Set.Most(), Source: s.sourceURL}
	o.Column, _ = p.ShownColumn(o.Event)
	return s.tabs.WriteLive(0, p.Set, o)
}

func (s *shownPages) newTabs(names []string) {
	s.tabs = page.NewTabs(names, page.Link{Text: "pprof", Address: pprofPath})
}

// writeTab writes the page of a profile, whose title is the name of its input by default.
func (s *shownPages) writeTab(tab int, p *profile, title string, inputs []string) error {
	o := page.Options{Title: title, TimesHint: timesHint, Select: selectFlags(inputs, s.given), Source: s.sourceURL}
	if len(p.Set.Events) > 0 {
		o.Event = p.Set.Most()
		o.Column = p.shownColumn(o.Event)
	}
	if p.Source != "-" && p.Source != "" {
		o.Title = cmp.Or(title, filepath.Base(p.Source))
	}
	return s.tabs.Write(tab, p.Set, o)
}

// encode keeps a profile for pprof.
func (s *shownPages) encode(p *profile) error {
	was := p.Set.DefaultType
	p.ShownFirst()
	if s.onlyPprof {
		noteStacks(p.Set)
	}
	err := s.profiles.Show(p.Set)
	p.Set.DefaultType = was // of what is written
	return err
}

// pprofPath is where pprof's pages are, beside ours.
const pprofPath = "pprof/"

// handler serves the pages. What was kept for pprof is not to be changed any more.
func (s *shownPages) handler() http.Handler {
	encode := sync.OnceValues(func() (*pprofui.Profiles, error) {
		if s.later == nil {
			return &s.profiles, nil
		}
		p, err := s.later()
		if err == nil {
			err = s.encode(p)
		}
		if err == nil && s.laterBase != nil {
			if p, err = s.laterBase(); err == nil {
				p.ShownFirst()
				err = s.profiles.Base(p.Set)
			}
		}
		s.later, s.laterBase = nil, nil
		debug.FreeOSMemory()
		return &s.profiles, err
	})
	go func() {
		switch {
		case s.recording != nil:
			<-s.recording
		case s.made != nil:
			<-s.made
		}
		if s.lazy {
			debug.FreeOSMemory()
			return
		}
		encode()
	}()
	pprof := pprofui.Handler(encode, pprofui.Options{
		Sources:    s.sources,
		Message:    func(text string) { messagef("%s", text) },
		Program:    "kprof view",
		SourceHint: " --source DIR allows the files below a directory.",
	})
	if s.onlyPprof {
		return pprof
	}
	mux := http.NewServeMux()
	mux.Handle("/"+pprofPath, s.whole(http.StripPrefix("/"+strings.TrimSuffix(pprofPath, "/"), pprof)))
	mux.Handle("/", s.tabs)
	if s.made == nil {
		return mux
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-s.made:
			mux.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	})
}

// whole has pages of what is recorded answer when it is whole.
func (s *shownPages) whole(pages http.Handler) http.Handler {
	if s.recording == nil {
		return pages
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-s.recording:
			pages.ServeHTTP(w, r)
		default:
			http.Error(w, "pprof's pages are there when the recording has ended", http.StatusServiceUnavailable)
		}
	})
}

// noteStacks says that pprof's pages will be slow, if they will.
func noteStacks(set *stacks.Set) {
	if n := set.NumStacks(); n > pprofui.ManyStacks {
		notef("pprof's pages take their time with %d different stacks: select some, or leave out --pprof", n)
	}
}
