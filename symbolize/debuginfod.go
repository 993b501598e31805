package symbolize

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"kprof/symbolize/elfsym"
	"kprof/symbolize/internal/regular"
)

// Limits on what debuginfod servers may cost. The largest debug files of
// distributions (browsers, kernels) have about one gigabyte.
const (
	maxDownload     = 2 << 30
	connectTimeout  = 10 * time.Second // to connect, and to be answered
	downloadTimeout = 5 * time.Minute  // of one file
)

// debuginfod fetches files by build id from servers that speak debuginfod's
// protocol: GET URL/buildid/ID/debuginfo, or executable.
type debuginfod struct {
	urls  []string
	dir   string // where files are kept, in elfutils' layout; empty for a temporary one
	limit int64

	once   sync.Once
	client *http.Client
	err    error

	mu      sync.Mutex
	temp    string          // made by us, to be removed
	dead    map[string]bool // servers that did not answer
	fetches cache[string, string]
}

// errNotServed: no server has the file.
var errNotServed = fmt.Errorf("debuginfod: %w", fs.ErrNotExist)

func (d *debuginfod) start() {
	d.client = &http.Client{
		Timeout: downloadTimeout,
		Transport: &http.Transport{
			DialContext:           (&net.Dialer{Timeout: connectTimeout}).DialContext,
			TLSHandshakeTimeout:   connectTimeout,
			ResponseHeaderTimeout: connectTimeout,
		},
	}
	d.dead = map[string]bool{}
	if d.dir == "" {
		d.temp, d.err = os.MkdirTemp("", "kprof-debuginfod-")
		d.dir = d.temp
	}
}

// fetch returns an open file of a kind, "debuginfo" or "executable", with that
// build id, and its path. It is asked for once.
func (d *debuginfod) fetch(id, kind string) (*os.File, string, error) {
	if len(d.urls) == 0 {
		return nil, "", errNotServed
	}
	if _, err := hex.DecodeString(id); err != nil || len(id) < 4 {
		return nil, "", errNotServed // nothing to be made part of a path
	}
	d.once.Do(d.start)
	if d.err != nil {
		return nil, "", d.err
	}
	path, err := d.fetches.get(id+"/"+kind, func() (string, error) { return d.get(id, kind) })
	if err != nil {
		return nil, "", err
	}
	f, _, err := regular.Open("", path)
	return f, path, err
}

// get brings a file into the directory, if it is not there.
func (d *debuginfod) get(id, kind string) (string, error) {
	path := filepath.Join(d.dir, id, kind)
	if has(path, id) {
		return path, nil
	}
	var why error
	for _, url := range d.urls {
		d.mu.Lock()
		dead := d.dead[url]
		d.mu.Unlock()
		if dead {
			continue
		}
		err := d.download(strings.TrimSuffix(url, "/")+"/buildid/"+id+"/"+kind, path, id)
		if err == nil {
			return path, nil
		}
		why = moreTelling(why, err)
		if !errors.Is(err, fs.ErrNotExist) {
			d.mu.Lock()
			d.dead[url] = true
			d.mu.Unlock()
		}
	}
	if why == nil {
		why = errNotServed
	}
	return "", why
}

// has reports whether an ELF file with that build id is at path.
func has(path, id string) bool {
	file, err := elfsym.Open(path, elfsym.Options{DebugDirs: []string{}})
	if err != nil {
		return false
	}
	defer file.Close()
	return trimBuildID(hex.EncodeToString(file.BuildID())) == trimBuildID(id)
}

// download writes what url serves to path, which appears only when it is
// complete.
func (d *debuginfod) download(url, path, id string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("fetch %s: %w", url, err)
		}
	}()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := d.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return errNotServed
	case resp.StatusCode != http.StatusOK:
		return errors.New(resp.Status)
	case resp.ContentLength > d.limit:
		return fmt.Errorf("%d bytes, more than %d", resp.ContentLength, d.limit)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".download-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone when it was renamed
	n, err := io.Copy(f, io.LimitReader(resp.Body, d.limit+1))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	switch {
	case err != nil:
		return err
	case n > d.limit:
		return fmt.Errorf("more than %d bytes", d.limit)
	case !has(f.Name(), id):
		return errors.New("not an ELF file with that build id")
	}
	return os.Rename(f.Name(), path)
}

// close removes what was kept for this Symbolizer only.
func (d *debuginfod) close() error {
	d.once.Do(func() { d.err = os.ErrClosed })
	if d.client != nil {
		d.client.CloseIdleConnections()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.temp == "" {
		return nil
	}
	dir := d.temp
	d.temp = ""
	return os.RemoveAll(dir)
}
