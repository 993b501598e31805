// Package page writes a whole Set as an HTML page to look at in a browser.
package page

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"strings"

	"kprof/convert/stacks"
)

// Options say what a page shows first.
type Options struct {
	// Event is an index into Set.Events, Column which of its values is shown.
	Event, Column int
	// Title stands above the page and in the browser's tab. Default: "kprof".
	Title string
	// TimesHint is what a page advises that has no room for the times of all
	// samples. Default: to take a part of the recording.
	TimesHint string
	// LeftTimes is the number of samples whose times the Set has no more, as there were more
	// than MaxTimes.
	LeftTimes int
	// Select is how the command line selects what a page does. Default: the page does not
	// say.
	Select Select
	// Source is where the page has source looked at. Default: it offers no source.
	Source Source

	// Compare has the page show what differs between the first two values of the event
	// shown: new and base. Default: it is no comparison.
	Compare *Compare

	// What Tabs adds: the tabs, which of them it is, and other links.
	tabs  []Link
	tab   int
	links []Link
	live  int // of a page that will be written again, how often it was written; else 0
}

// Compare is what is known of a comparison. Texts are as a reader sees them.
type Compare struct {
	Verdict string       `json:"verdict"`
	Columns []string     `json:"columns"` // of rows, behind the function and its verdict
	Rows    []CompareRow `json:"rows"`    // functions that changed
}

// CompareRow is a function that changed.
type CompareRow struct {
	Function string   `json:"function"`
	Verdict  string   `json:"verdict"`
	Code     string   `json:"code"` // what became of its code, "" if that is not known
	Cells    []string `json:"cells"`
}

// filled has lists where there are none, as the page wants them.
func (c *Compare) filled() *Compare {
	if c == nil {
		return nil
	}
	return &Compare{c.Verdict, append([]string{}, c.Columns...), append([]CompareRow{}, c.Rows...)}
}

// Select is a command that shows a profile, and its flags: by their names "event", "tagroot",
// which takes keys of labels, "time", which takes START,END in seconds of the recording's clock,
// both included, and the operations of kprof's convert/transform.
type Select struct {
	Command []string          `json:"command"`
	Given   [][2]string       `json:"given"` // flags with which the profile was made, and their values
	Inputs  []string          `json:"inputs"`
	Flags   map[string]string `json:"flags"`
	Labels  map[string]string `json:"labels"` // flags of values of labels, which take a list, by the labels' keys
}

//go:embed html
var htmlFiles embed.FS

// htmlScripts are the page's scripts in the order in which they are needed.
var htmlScripts = []string{
	"format", "slices", "data", "tree", "siblings", "transform", "layout", "inverted", "time", "span", "strip", "colors", "compare", "pixels", "chart", "rows", "table", "heat", "filters", "state", "command",
	"menu", "app", "sums", "chips", "details", "coarse", "sides", "views", "spread", "pointing", "save", "selected", "pprof", "repage", "live", "input",
}

// Write writes a page to look at a profile in a browser, with all events, values
// and labels: flame graph, time order, callers and callees, table of functions.
// It is one file, needs no network and forbids itself any: its policy allows the
// scripts and styles written here, by their hashes, and nothing else. All text of
// the profile is in a block of data, gzip as base64, that the page inflates.
//
// Of a profile that would make a page too large to open, the lightest stacks keep
// their outer frames only, as far as they lead to heavy ones, and end in "…"; and times are
// told apart by bins only.
func Write(w io.Writer, s *stacks.Set, o Options) error { return write(w, s, o, usualLimits) }

func write(w io.Writer, s *stacks.Set, o Options, limits pageLimits) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write page: %w", err)
		}
	}()
	d, err := newPageData(s, o, limits)
	if err != nil {
		return err
	}
	head, tail := htmlPage(d.head.Title, o.live > 0)
	if _, err := io.WriteString(w, head); err != nil {
		return err
	}
	text := base64.NewEncoder(base64.StdEncoding, w)
	if err := d.compress(text); err != nil {
		return err
	}
	if err := text.Close(); err != nil {
		return err
	}
	_, err = io.WriteString(w, tail)
	return err
}

// htmlPage is the page before and after its data. One that is live may ask for newer data
// where it comes from.
func htmlPage(title string, live bool) (head, tail string) {
	style := htmlFile("style.css")
	var script strings.Builder
	script.WriteString("'use strict';\n(() => {\n")
	for _, name := range htmlScripts {
		script.WriteString(htmlFile(name + ".js"))
	}
	script.WriteString("})();\n")
	policy := fmt.Sprintf("default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; script-src %s; style-src %s",
		sourceHash(script.String()), sourceHash(style))
	if live {
		policy += "; connect-src 'self'"
	}
	fill := strings.NewReplacer(
		"{{policy}}", policy,
		"{{title}}", html.EscapeString(strings.ToValidUTF8(title, "\uFFFD")),
		"{{style}}", style,
		"{{script}}", script.String(),
	)
	head, tail, _ = strings.Cut(htmlFile("page.html"), "{{data}}")
	return fill.Replace(head), fill.Replace(tail)
}

// sourceHash allows an inline script or style in a Content-Security-Policy.
func sourceHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// htmlFile is an embedded file, which is there as long as the program is.
func htmlFile(name string) string {
	b, err := htmlFiles.ReadFile("html/" + name)
	if err != nil {
		panic(err)
	}
	return string(b)
}
