package gate_test

import (
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kprof/convert/gate"
)

// TestOpenBrowser gives a program that takes the place of a browser the address of a file that
// leads to the page, whatever the directory of temporary files is called.
func TestOpenBrowser(t *testing.T) {
	dir := t.TempDir()
	got := filepath.Join(dir, "got")
	browser := filepath.Join(dir, "browser")
	if err := os.WriteFile(browser, []byte("#!/bin/sh\necho \"$1\" >'"+got+".part' && mv '"+got+".part' '"+got+"'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	tmp := filepath.Join(dir, "a #?%41b")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", tmp)
	const page = `http://127.0.0.1:1/?a=1&b="2"#secret`
	remove, err := gate.OpenBrowser(page, browser, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var b []byte
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		if b, err = os.ReadFile(got); err == nil {
			break
		}
		if time.Since(start) > time.Minute {
			t.Fatal(err)
		}
	}
	u, err := url.Parse(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(u.Path)
	if err != nil || u.Scheme != "file" || u.Fragment != "" || u.RawQuery != "" {
		t.Errorf("%s: %v", b, err)
	}
	if want := `content="0;url=http://127.0.0.1:1/?a=1&amp;b=&#34;2&#34;#secret"`; !strings.Contains(string(text), want) {
		t.Errorf("%s has no %s", text, want)
	}
	remove()
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}
