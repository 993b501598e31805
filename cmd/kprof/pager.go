package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
)

// paged writes what write produces to standard output; on a terminal that has fewer
// lines, through $PAGER, by default less. PAGER= or cat is for none. What is written
// must obey no name of a stranger's: it has colours.
func paged(write func(io.Writer) error) error {
	out := os.Stdout
	_, rows := terminalSize(os.Stdout)
	if !isTerminal(os.Stdout) || !isTerminal(os.Stdin) {
		return write(out)
	}
	pager, set := os.LookupEnv("PAGER")
	if !set {
		pager = "less"
	}
	words := strings.Fields(pager)
	if len(words) == 0 || words[0] == "cat" {
		return write(out)
	}
	path, err := exec.LookPath(words[0])
	if err != nil {
		return write(out)
	}
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	if bytes.Count(b.Bytes(), []byte("\n")) < rows {
		_, err := b.WriteTo(out)
		return err
	}
	cmd := exec.Command(path, words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &b, os.Stdout, os.Stderr
	cmd.Env = os.Environ()
	if os.Getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRX") // colours, and no screen of its own
	}
	// Ctrl-C is for the pager, which goes on: it ends a search there. Were we gone, it and the shell
	// would read from the terminal both.
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && (exit.ExitCode() < 0 || len(interrupts) > 0) {
		return nil // it ended by a signal, as more does, or because of one
	}
	return err
}
