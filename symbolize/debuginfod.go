package symbolize

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	neturl "net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"kprof/symbolize/elfsym"
	"kprof/symbolize/regular"
)

// Limits on what debuginfod servers may cost. The largest debug files of
// distributions (kernels) have about one gigabyte, those of browsers up to five.
const (
	maxDownload    = 8 << 30         // of a file
	maxDownloads   = 16 << 30        // of all
	connectTimeout = 3 * time.Second // to connect; to be answered takes of the patience
	maxRedirects   = 5
)

// errTooLarge: a server says that a file is larger than what is fetched. The limit follows.
var errTooLarge = errors.New("more than")

// debuginfod fetches files by build id from servers that speak debuginfod's
// protocol: GET URL/buildid/ID/debuginfo, or executable.
type debuginfod struct {
	urls  []string
	dir   string // where files are kept, in elfutils' layout; empty for a temporary one
	limit int64
	proxy func(*http.Request) (*neturl.URL, error)

	once     sync.Once
	client   *http.Client
	err      error
	ctx      context.Context // until close
	cancel   context.CancelFunc
	patience patience
	total    atomic.Int64 // bytes that were sent

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup  // fetches
	temp    string          // made by us, to be removed
	dead    map[string]bool // servers that did not answer
	why     []error         // of each of them
	fetches cache[string, string]
}

// errNotServed: no server has the file.
var errNotServed = fmt.Errorf("debuginfod: %w", fs.ErrNotExist)

func (d *debuginfod) start() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.client = &http.Client{
		CheckRedirect: checkRedirect,
		Transport: &http.Transport{
			Proxy:               d.proxy,
			DialContext:         (&net.Dialer{Timeout: connectTimeout}).DialContext,
			TLSHandshakeTimeout: connectTimeout,
		},
	}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	d.dead = map[string]bool{}
	if d.dir == "" {
		d.temp, d.err = os.MkdirTemp("", "kprof-debuginfod-")
		d.dir = d.temp
		return
	}
	if d.err = os.MkdirAll(d.dir, 0o700); d.err == nil {
		d.err = private(d.dir)
	}
}

// checkRedirect follows no server out of what TLS protects.
func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) > maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	if via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return fmt.Errorf("redirect from https to %s", req.URL.Scheme)
	}
	return nil
}

// private returns an error if somebody else may put files into a directory.
func private(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if id, ok := regular.Identify(info); ok && (id.UID != uint32(os.Geteuid()) || info.Mode()&0o022 != 0) {
		return fmt.Errorf("debuginfod: others may write into the cache %s", dir)
	}
	return nil
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
	d.mu.Lock()
	closed := d.closed
	if !closed {
		d.running.Add(1)
	}
	d.mu.Unlock()
	if closed {
		return nil, "", os.ErrClosed
	}
	defer d.running.Done()
	path, err := d.fetches.get(id+"/"+kind, func() (string, error) { return d.get(id, kind) })
	if err != nil {
		return nil, "", err
	}
	f, err := d.open(path, id)
	return f, path, err
}

// fetchRecorded is fetch of the file with a recorded build id.
func (d *debuginfod) fetchRecorded(recorded, kind string) (*os.File, string, error) {
	err := errNotServed
	for _, id := range buildIDsOf(recorded) {
		var f *os.File
		var path string
		if f, path, err = d.fetch(id, kind); err == nil {
			return f, path, nil
		}
	}
	return nil, "", err
}

// open opens an ELF file with that build id in the directory.
func (d *debuginfod) open(path, id string) (*os.File, error) {
	below, err := filepath.Rel(d.dir, path)
	if err != nil {
		return nil, err
	}
	f, _, err := regular.OpenWith(below, regular.Options{Root: d.dir, NoSymlinks: true})
	if err != nil {
		return nil, err
	}
	if err := checkELF(f, id); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// checkELF returns an error if f is no ELF file with that build id.
func checkELF(f *os.File, id string) error {
	file, err := elfsym.New(f, elfsym.Options{DebugDirs: []string{}})
	if err == nil && !sameBuildID(id, hex.EncodeToString(file.BuildID())) {
		err = errors.New("another build id")
	}
	return err
}

// get brings a file into the directory, if it is not there.
func (d *debuginfod) get(id, kind string) (string, error) {
	path := filepath.Join(d.dir, id, kind)
	if f, err := d.open(path, id); err == nil {
		return path, f.Close()
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
		if errors.Is(err, errTooLarge) { // others may be smaller
			d.mu.Lock()
			d.why = append(d.why, err)
			d.mu.Unlock()
		} else if !errors.Is(err, fs.ErrNotExist) {
			d.mu.Lock()
			if !d.dead[url] && !errors.Is(err, context.Canceled) {
				d.why = append(d.why, err)
			}
			d.dead[url] = true
			d.mu.Unlock()
		}
	}
	if why == nil {
		why = errNotServed
	}
	return "", why
}

// download writes what url serves to path, which appears only when it is
// complete.
func (d *debuginfod) download(url, path, id string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("fetch %s: %w", url, err)
		}
	}()
	ctx, cancel := context.WithCancelCause(d.ctx)
	defer cancel(nil)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answered := d.patience.wait(cancel)
	resp, err := d.client.Do(req)
	answered(0)
	if err != nil {
		var outer *neturl.Error
		if errors.As(err, &outer) { // it names the address again
			err = outer.Err
		}
		return cmp.Or(slowness(ctx), err)
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return errNotServed
	case resp.StatusCode != http.StatusOK:
		return errors.New(resp.Status)
	case resp.ContentLength > d.limit:
		return fmt.Errorf("%d bytes, %w %d", resp.ContentLength, errTooLarge, d.limit)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".download-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone when it was renamed
	body := &patientReader{resp.Body, &d.patience, cancel}
	n, err := io.Copy(f, io.LimitReader(body, d.limit+1))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	err = cmp.Or(slowness(ctx), err)
	switch {
	case err != nil:
		return err
	case n > d.limit:
		return fmt.Errorf("more than %d bytes", d.limit)
	case d.total.Add(n) > maxDownloads:
		return fmt.Errorf("more than %d bytes in all", int64(maxDownloads))
	}
	whole, err := d.open(f.Name(), id)
	if err != nil {
		return errors.New("not an ELF file with that build id")
	}
	return errors.Join(os.Rename(f.Name(), path), whole.Close())
}

// close ends what is being fetched, and removes what was kept for this Symbolizer
// only.
func (d *debuginfod) close() error {
	d.once.Do(func() { d.err = os.ErrClosed })
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	if d.client != nil {
		d.cancel()
		d.running.Wait() // on no server any more
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

// refused joins why servers are not asked any more.
func (d *debuginfod) refused() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.why) == 0 && d.client != nil {
		return d.err
	}
	return errors.Join(d.why...)
}
