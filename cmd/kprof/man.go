//go:build manpages

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra/doc"
)

// A kprof that is built with this tag writes its man pages instead of running:
//
//	go run -tags manpages ./cmd/kprof DIRECTORY
//
// one in section 1 for each command, one in section 7 for each topic of help.
// SOURCE_DATE_EPOCH is their date.
func init() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: kprof DIRECTORY")
		os.Exit(exitUsage)
	}
	if err := writeManPages(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitFailed)
	}
	os.Exit(0)
}

func writeManPages(dir string) error {
	commands, texts := filepath.Join(dir, "man1"), filepath.Join(dir, "man7")
	for _, d := range []string{commands, texts} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	root := newRoot()
	root.DisableAutoGenTag = true
	root.InitDefaultCompletionCmd()
	if err := doc.GenManTree(root, &doc.GenManHeader{Source: "kprof", Manual: "kprof"}, commands); err != nil {
		return err
	}
	for _, t := range topicOrder {
		text, err := topics.ReadFile("help/" + t.name + ".md")
		if err != nil {
			return err
		}
		// The heading is the page's; those of licenses are sections.
		_, text, _ = bytes.Cut(text, []byte("\n"))
		page := fmt.Sprintf("%% kprof-%s 7 \"\" kprof\n\n# NAME\n\nkprof-%[1]s - %s\n\n# DESCRIPTION\n%s\n# SEE ALSO\n\n**kprof(1)**\n", t.name, t.short, text)
		name := filepath.Join(texts, "kprof-"+t.name+".7")
		if err := os.WriteFile(name, md2man.Render([]byte(page)), 0o644); err != nil {
			return err
		}
	}
	return nil
}
