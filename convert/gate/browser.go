package gate

import (
	"errors"
	"html"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// OpenBrowser opens a page in a browser: in preferred, a program with its arguments, or
// in what usually is one. Its messages go to stderr. remove removes what it needs.
//
// Everybody on the machine can read the arguments of a program, so the address is
// in a file that only its owner can read.
func OpenBrowser(address, preferred string, stderr io.Writer) (remove func(), err error) {
	browsers := []string{"sensible-browser", "google-chrome", "chromium", "firefox", "xdg-open"}
	if preferred != "" {
		browsers = append([]string{preferred}, browsers...)
	}
	dir, err := os.MkdirTemp("", "kprof-view-")
	if err != nil {
		return func() {}, err
	}
	remove = func() { os.RemoveAll(dir) }
	name := filepath.Join(dir, "view.html")
	page := `<!doctype html><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=` + html.EscapeString(address) + `">`
	if err := os.WriteFile(name, []byte(page), 0o600); err != nil {
		return remove, err
	}
	for _, b := range browsers {
		words := strings.Fields(b)
		if len(words) == 0 {
			continue
		}
		cmd := exec.Command(words[0], append(words[1:], fileURL(name))...)
		cmd.Stderr = stderr
		if err := cmd.Start(); err == nil {
			go cmd.Wait()
			return remove, nil
		}
	}
	return remove, errors.New("none is installed")
}

// fileURL is the address of a file, whose name is absolute; "C:/…" begins with a slash there.
func fileURL(name string) string {
	name = filepath.ToSlash(name)
	if !strings.HasPrefix(name, "/") {
		name = "/" + name
	}
	return (&url.URL{Scheme: "file", Path: name}).String()
}
