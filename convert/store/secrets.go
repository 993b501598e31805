package store

import (
	"cmp"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
)

// secrets are what must not be in a message, the longest first.
type secrets []string

// minSecret is how long a secret is at least that is looked for in a text.
const minSecret = 4

// secretsOf are the values of headers, without what those say of themselves before a secret; of a
// password (RFC 7617) also how it was before it was encoded.
func secretsOf(h http.Header) (s secrets) {
	add := func(text string) {
		if len(text) >= minSecret && !strings.HasPrefix(text, "application/") {
			s = append(s, text)
		}
	}
	for _, values := range h {
		for _, v := range values {
			add(v)
			add(strings.TrimPrefix(v, "Bearer "))
			encoded, basic := strings.CutPrefix(v, "Basic ")
			if pair, err := base64.StdEncoding.DecodeString(encoded); basic && err == nil {
				_, password, _ := strings.Cut(string(pair), ":")
				add(encoded)
				add(string(pair))
				add(password)
			}
		}
	}
	slices.SortFunc(s, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return s
}

// shown is what of a stranger's text, in which there may be what we sent, is shown.
func (s secrets) shown(text string) string {
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, "…")
	}
	return cut(text)
}
