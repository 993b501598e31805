package main

import (
	"bytes"
	"fmt"
	"os"

	"kprof/perfevent/abi"
	"kprof/perfevent/perfdata"
)

// capsuleReader reads the kernel's symbols for a recording's capsule while its
// events are being opened.
type capsuleReader struct {
	done    chan struct{}
	capsule perfdata.Capsule
	encoded []byte
	err     error
}

func readCapsule() *capsuleReader {
	c := &capsuleReader{done: make(chan struct{})}
	go func() {
		defer close(c.done)
		if c.capsule, c.err = functionsOfKernel(); c.err == nil && len(c.capsule.Kallsyms) > 0 {
			c.encoded, c.err = c.capsule.AppendTo(nil, abi.LittleEndian)
		}
	}()
	return c
}

// start returns the capsule as it was at the start, nil if the kernel shows no
// addresses to us.
func (c *capsuleReader) start() ([]byte, error) {
	<-c.done
	return c.encoded, c.err
}

// end returns a capsule for the end of a recording if modules came or went since
// its start, else nil: no record tells of them.
func (c *capsuleReader) end() ([]byte, error) {
	if <-c.done; c.encoded == nil {
		return nil, nil
	}
	modules, err := os.ReadFile("/proc/modules")
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	if bytes.Equal(modules, c.capsule.Modules) {
		return nil, nil
	}
	now, err := functionsOfKernel()
	if err != nil {
		return nil, err
	}
	// A module that is gone has its symbols in the first list only.
	now.Kallsyms = append(now.Kallsyms, goneModules(c.capsule.Kallsyms, now.Modules)...)
	return now.AppendTo(nil, abi.LittleEndian)
}

// functionsOfKernel reads /proc/kallsyms, the functions of it, and /proc/modules.
func functionsOfKernel() (c perfdata.Capsule, err error) {
	all, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		return c, fmt.Errorf("symbols of the kernel: %w", err)
	}
	if c.Modules, err = os.ReadFile("/proc/modules"); err != nil && !os.IsNotExist(err) {
		return c, fmt.Errorf("modules of the kernel: %w", err)
	}
	hidden := true
	for line := range bytes.Lines(all) {
		// "ffffffff81000000 T _text": the letter says what it is.
		addr, rest, ok := bytes.Cut(line, []byte{' '})
		if !ok || len(rest) < 2 || !bytes.ContainsAny(rest[:1], "tTwW") {
			continue
		}
		hidden = hidden && len(bytes.Trim(addr, "0")) == 0
		c.Kallsyms = append(c.Kallsyms, line...)
	}
	if hidden {
		c.Kallsyms = nil
	}
	return c, nil
}

// goneModules returns the lines of kallsyms that belong to modules which the
// list does not have.
func goneModules(kallsyms, modules []byte) (lines []byte) {
	loaded := map[string]bool{}
	for line := range bytes.Lines(modules) {
		name, _, _ := bytes.Cut(line, []byte{' '})
		loaded[string(name)] = true
	}
	for line := range bytes.Lines(kallsyms) {
		_, module, ok := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte("\t["))
		name := string(bytes.TrimSuffix(module, []byte("]")))
		// "bpf" and names that begin with "__builtin__" are no modules.
		if ok && !loaded[name] && name != "bpf" && !bytes.HasPrefix(module, []byte("__builtin__")) {
			lines = append(lines, line...)
		}
	}
	return lines
}
