package store

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"kprof/convert/store/storetest"
	"kprof/perfevent/livetest"
)

// TestReplacedCertificates: certificates that are replaced while somebody sends are used from the
// next request on, both ours and those by which the store is checked, and between the two steps in
// which who renews a certificate and its key does so, what was there goes on being used.
func TestReplacedCertificates(t *testing.T) {
	dir := t.TempDir()
	read := func(name string) []byte {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var configs []*tls.Config // of a server, which trusts only ours of the same year
	var certs [][3]string
	for _, year := range []string{"1", "2"} {
		serverCert, serverKey := selfSigned(t, dir, "server"+year)
		ourCert, ourKey := selfSigned(t, dir, "ours"+year)
		pair, err := tls.LoadX509KeyPair(serverCert, serverKey)
		if err != nil {
			t.Fatal(err)
		}
		us := x509.NewCertPool()
		us.AppendCertsFromPEM(read(ourCert))
		configs = append(configs, &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: us})
		certs = append(certs, [3]string{serverCert, ourCert, ourKey})
	}
	current := configs[0]
	plain := storetest.New(t)
	server := httptest.NewUnstartedServer(plain.Config.Handler)
	server.TLS = configs[0].Clone()
	server.TLS.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return current, nil }
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()

	o := ClientOptions{
		URL:    "https://localhost" + server.URL[strings.LastIndex(server.URL, ":"):],
		CAFile: dir + "/ca.pem", CertFile: dir + "/cert.pem", KeyFile: dir + "/key.pem",
	}
	for i, name := range []string{o.CAFile, o.CertFile, o.KeyFile} {
		livetest.WriteFile(t, name, read(certs[0][i]))
	}
	s := NewSender(client(t, o), SenderOptions{Pieces: PieceOptions{Labels: service}})
	push := func(what string) {
		t.Helper()
		before := len(plain.Pushes())
		if err := s.Enqueue(recorded("web", 1)); err != nil {
			t.Fatal(err)
		}
		if err := s.Drain(context.Background()); err != nil || len(plain.Pushes()) != before+1 {
			t.Errorf("%s: %v, %d pushes more", what, err, len(plain.Pushes())-before)
		}
	}
	push("at first")
	livetest.WriteFile(t, o.CAFile, append(read(certs[0][0]), read(certs[1][0])...))
	livetest.WriteFile(t, o.CertFile, read(certs[1][1])) // whose key is not there yet
	push("between the two")
	livetest.WriteFile(t, o.KeyFile, read(certs[1][2]))
	current = configs[1]
	server.CloseClientConnections()
	push("after both")
}
