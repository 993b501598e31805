package procfs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/klauspost/compress/gzip"
)

// ReadKernelConfig reads what a kernel was built with: the values of its options, such as
// "y" of CONFIG_PERF_EVENTS, without those that are not set. It looks in all places where
// the configuration of a kernel of this release is kept, below root, and returns the path
// of the one it has read.
func ReadKernelConfig(root fs.FS, release string) (config map[string]string, from string, err error) {
	var tried []error
	for _, path := range []string{
		"proc/config.gz", "boot/config-" + release, "lib/modules/" + release + "/config",
		"lib/modules/" + release + "/build/.config", "usr/lib/modules/" + release + "/config",
	} {
		config, err := readConfig(root, path)
		if err == nil {
			return config, "/" + path, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			tried = append(tried, err)
		}
	}
	if len(tried) > 0 {
		return nil, "", errors.Join(tried...)
	}
	return nil, "", fmt.Errorf("neither /proc/config.gz nor /boot/config-%s nor /lib/modules/%[1]s/build/.config is there", release)
}

func readConfig(root fs.FS, path string) (map[string]string, error) {
	f, err := root.Open(path)
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return nil, &fs.PathError{Op: e.Op, Path: "/" + path, Err: e.Err}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return nil, fmt.Errorf("/%s: %w", path, err)
		}
	}
	config, err := parseConfig(r)
	if err != nil {
		return nil, fmt.Errorf("/%s: %w", path, err)
	}
	return config, nil
}

// maxConfig bounds what is read of a configuration, which may be compressed: that of a
// kernel for all machines has 300 KB.
const maxConfig = 16 << 20

// parseConfig reads lines "CONFIG_X=value"; options that are not set are comments.
func parseConfig(r io.Reader) (map[string]string, error) {
	config := map[string]string{}
	in := &io.LimitedReader{R: r, N: maxConfig + 1}
	sc := bufio.NewScanner(in)
	for sc.Scan() {
		if name, value, ok := strings.Cut(sc.Text(), "="); ok && strings.HasPrefix(name, "CONFIG_") {
			config[name] = value
		}
	}
	if sc.Err() == nil && in.N == 0 {
		return nil, fmt.Errorf("a configuration of more than %d MB", maxConfig>>20)
	}
	return config, sc.Err()
}
