package page

import (
	"fmt"
	"net/url"
	"strings"
)

// Source is where the source of functions can be looked at, such as a browser of a repository.
type Source struct {
	// Prefix is what the names of those files begin with that are there, and what is left out
	// of them, such as the directory of a build. Default: all files are there.
	Prefix string `json:"prefix"`
	// URL has {file} where the name of a file goes, and {line} where the line does in which a
	// function begins. Default: nowhere.
	URL string `json:"url"`
}

// ParseSource parses the address of a Source, behind its prefix and "=", if it has one:
// "/build/linux-6.1/=https://elixir.bootlin.com/linux/v6.1/source/{file}#L{line}".
func ParseSource(text string) (Source, error) {
	var s Source
	at := strings.Index(text, "http")
	if at > 0 && text[at-1] == '=' {
		s.Prefix, text = text[:at-1], text[at:]
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return Source{}, err
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "", strings.Contains(u.Host, "{"):
		return Source{}, fmt.Errorf("%q is no http or https address, with or without PREFIX= in front", text)
	case !strings.Contains(text, "{file}"):
		return Source{}, fmt.Errorf("%q does not say where the name of a file goes: {file}", text)
	}
	s.URL = text
	return s, nil
}
