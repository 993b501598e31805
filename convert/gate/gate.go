package gate

import (
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
)

// gate decides who sees the pages, see Server.
type gate struct {
	options  Options
	token    string   // what all paths begin with: 128 random bits
	named    []string // hosts, beside those of the loopback, that are listened at
	hostname string
	local    bool // only the loopback is listened to
	anyIP    bool // all addresses of the machine are listened to
}

// newGate makes a gate for an address to listen at, as given and as it came to be.
func newGate(host string, addr net.Addr, o Options) gate {
	g := gate{options: o, token: rand.Text()}
	g.hostname, _ = os.Hostname()
	ip := addr.(*net.TCPAddr).IP
	if g.local = ip.IsLoopback(); !g.local {
		g.named = []string{host, ip.String()}
	}
	if g.anyIP = ip.IsUnspecified(); g.anyIP {
		g.named = []string{g.hostname}
	}
	return g
}

// answers reports whether a Host, with or without its port, is one of ours. The
// port may be that of a tunnel.
func (g *gate) answers(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	if ip := net.ParseIP(host); ip != nil && (g.anyIP || ip.IsLoopback()) {
		return true
	}
	return host != "" && slices.ContainsFunc(g.named, func(n string) bool { return strings.EqualFold(n, host) })
}

// refusal says why a request is not answered, "" if it is.
func (g *gate) refusal(r *http.Request) string {
	if !g.answers(r.Host) {
		return g.options.Program + " does not answer to this host name" + g.options.HostHint
	}
	origins := r.Header.Values("Origin")
	for _, o := range origins {
		if o != "http://"+r.Host {
			return g.options.Program + " answers no page but its own"
		}
	}
	token, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if subtle.ConstantTimeCompare([]byte(token), []byte(g.token)) != 1 {
		return "the address of " + g.options.Program + "'s pages is the one that it printed, with all that is behind the port"
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead && len(origins) == 0 {
		return "only " + g.options.Program + "'s own pages change settings"
	}
	return ""
}

// contentPolicy lets pages load nothing but their own scripts and styles, which
// are part of them, and talk to nobody but us.
const contentPolicy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src 'self' data:; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard has pages answer what passes the gate, with the token cut off.
func (g *gate) guard(pages http.Handler) http.Handler {
	below := http.StripPrefix("/"+g.token, pages)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		if why := g.refusal(r); why != "" {
			http.Error(w, why, http.StatusForbidden)
			return
		}
		if r.URL.Path == "/"+g.token {
			http.Redirect(w, r, "/"+g.token+"/", http.StatusMovedPermanently)
			return
		}
		below.ServeHTTP(w, r)
	})
}
