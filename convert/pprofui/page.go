package pprofui

import (
	"bytes"
	"html"
	"net/http"
	"strconv"
)

// noted puts a note below the head of a page.
func noted(page http.Handler, note string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k := &keptPage{ResponseWriter: w}
		page.ServeHTTP(k, r)
		k.note(note)
		k.flush()
	})
}

// keptPage keeps one of pprof's pages, to be changed before it is sent.
type keptPage struct {
	http.ResponseWriter
	body bytes.Buffer
}

func (k *keptPage) Write(b []byte) (int, error) { return k.body.Write(b) }

// note puts text, which is no markup, below the page's head, "" for none.
func (k *keptPage) note(text string) {
	const place = `<div id="errors">`
	if text != "" {
		k.replace(place, `<div style="padding:6px 8px;background:#f4f4f4;color:#555">`+html.EscapeString(text)+"</div>\n"+place)
	}
}

// replace replaces the first old.
func (k *keptPage) replace(old, new string) {
	k.body = *bytes.NewBuffer(bytes.Replace(k.body.Bytes(), []byte(old), []byte(new), 1))
}

// flush sends the page. It has an icon, an empty one, so that the browser does
// not ask for /favicon.ico, which is not below the token.
func (k *keptPage) flush() {
	k.replace("<head>", `<head><link rel="icon" href="data:,">`)
	k.Header().Set("Content-Length", strconv.Itoa(k.body.Len()))
	k.ResponseWriter.Write(k.body.Bytes())
}
