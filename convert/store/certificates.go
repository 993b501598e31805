package store

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"time"
)

// maxCertificates bounds a file of certificates: those of all authorities take a quarter of a MiB.
const maxCertificates = 16 << 20

// certificates are what the files CAFile, CertFile and KeyFile hold.
type certificates struct{ ca, cert, key string }

// readCertificates reads the files with certificates.
func (c *Client) readCertificates() (held certificates, err error) {
	for _, f := range []struct {
		name string
		to   *string
	}{{c.o.CAFile, &held.ca}, {c.o.CertFile, &held.cert}, {c.o.KeyFile, &held.key}} {
		if f.name == "" {
			continue
		}
		if *f.to, err = c.fileText(f.name, maxCertificates); err != nil {
			return held, err
		}
	}
	return held, nil
}

// config is how connections are encrypted with certificates.
func (c *Client) config(held certificates) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.o.CAFile != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM([]byte(held.ca)) {
			return nil, fmt.Errorf("%s: it has no certificate in PEM", c.o.CAFile)
		}
	}
	if c.o.CertFile != "" {
		pair, err := tls.X509KeyPair([]byte(held.cert), []byte(held.key))
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", c.o.CertFile, c.o.KeyFile, err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// connections returns what makes requests with the certificates that the files hold now. Those
// that it had go on being used while the files cannot be: who replaces a certificate and its key
// does so one after the other.
func (c *Client) connections() (*http.Client, error) {
	held, err := c.readCertificates()
	c.connecting.Lock()
	defer c.connecting.Unlock()
	if c.http != nil && (err != nil || held == c.held) {
		return c.http, nil
	}
	if err != nil {
		return nil, err
	}
	config, err := c.config(held)
	switch {
	case err != nil && c.http != nil:
		return c.http, nil
	case err != nil:
		return nil, err
	case c.http != nil:
		c.http.CloseIdleConnections()
	}
	c.held = held
	c.http = &http.Client{
		Transport: &http.Transport{
			Proxy: c.o.Proxy, TLSClientConfig: config, ForceAttemptHTTP2: true,
			DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: 64 << 10,
		},
		// A secret is for the store only, and a push is not repeated as a GET.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c.http, nil
}
