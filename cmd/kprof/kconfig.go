package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// wantedOptions are the kernel options that recordings make use of.
var wantedOptions = []struct{ name, gives string }{
	{"CONFIG_PERF_EVENTS", "recording at all"},
	{"CONFIG_KALLSYMS", "name of kernel functions"},
	{"CONFIG_EVENT_TRACING", "tracepoint"},
	{"CONFIG_FTRACE_SYSCALLS", "tracepoint of system calls (syscalls:*)"},
	{"CONFIG_FUNCTION_TRACER", "ftrace:function"},
	{"CONFIG_KPROBES", "probe on kernel functions"},
	{"CONFIG_KPROBE_EVENTS", "event of kernel probes (kprobe:FUNC)"},
	{"CONFIG_UPROBE_EVENTS", "event of user probes (uprobe:PATH:SYMBOL)"},
	{"CONFIG_HAVE_HW_BREAKPOINT", "breakpoint event (mem:ADDR)"},
	{"CONFIG_CGROUP_PERF", "recording of a cgroup (--cgroup)"},
	{"CONFIG_BPF_SYSCALL", "BPF program to be named"},
	{"CONFIG_DEBUG_INFO_BTF", "kernel type information"},
	{"CONFIG_PROC_FS", "/proc to read processes from"},
}

// kernelConfig reads what the running kernel was built with, from wherever it is
// kept.
func kernelConfig(release string) (config map[string]string, from string, err error) {
	var tried []error
	for _, path := range []string{"/proc/config.gz", "/boot/config-" + release, "/lib/modules/" + release + "/config"} {
		config, err := readConfig(path)
		if err == nil {
			return config, path, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			tried = append(tried, err)
		}
	}
	if len(tried) > 0 {
		return nil, "", errors.Join(tried...)
	}
	return nil, "", fmt.Errorf("neither /proc/config.gz nor /boot/config-%s is there", release)
}

func readConfig(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	config, err := parseConfig(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return config, nil
}

// parseConfig reads lines "CONFIG_X=value"; options that are not set are comments.
func parseConfig(r io.Reader) (map[string]string, error) {
	config := map[string]string{}
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		if name, value, ok := strings.Cut(sc.Text(), "="); ok && strings.HasPrefix(name, "CONFIG_") {
			config[name] = value
		}
	}
	return config, sc.Err()
}
