package main

import (
	"strings"

	"kprof/convert/export"
)

// next says what to do with an output that has been written, "" where there is
// nothing to say: it went elsewhere, or is shown already.
func (o output) next() string {
	if o.keep != nil || o.place == nil || !o.place.IsFile() {
		return ""
	}
	switch o.format {
	case export.Data:
		return "to look at it: kprof view " + shellArg(o.name)
	case export.Pprof, export.Folded, export.FoldedHeader:
		return "to look at it: kprof view " + shellArg(o.name)
	case export.SVG, export.HTML:
		return "to look at it, open " + o.name + " in a browser"
	case export.Speedscope:
		return "to look at it, open " + o.name + " at https://www.speedscope.app"
	case export.Firefox:
		return "to look at it, open " + o.name + " at https://profiler.firefox.com"
	case export.Chrome:
		return "to look at it, open " + o.name + " at https://ui.perfetto.dev"
	}
	return ""
}

// shellArg is a file's name as it is typed in a shell, behind a command.
func shellArg(name string) string {
	if strings.HasPrefix(name, "-") {
		name = "./" + name
	}
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%"
	if strings.Trim(name, plain) == "" {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
