package store

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"math/big"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kprof/convert/store/storetest"
	"kprof/perfevent/livetest"
)

// selfSigned writes a certificate of this machine's loopback interface, and its key.
func selfSigned(t *testing.T, dir, name string) (cert, key string) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+".key")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "EC PRIVATE KEY", Bytes: keyDER}} {
		livetest.WriteFile(t, file, pem.EncodeToMemory(block))
	}
	return cert, key
}

// TestTLS: a store is trusted by the certificates that were given, and shown ours; who
// cannot prove who it is gets nothing, and is not asked again.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	serverCert, serverKey := selfSigned(t, dir, "server")
	ourCert, ourKey := selfSigned(t, dir, "ours")
	pair, err := tls.LoadX509KeyPair(serverCert, serverKey)
	if err != nil {
		t.Fatal(err)
	}
	us := x509.NewCertPool()
	ours, err := os.ReadFile(ourCert)
	if err != nil || !us.AppendCertsFromPEM(ours) {
		t.Fatal(err)
	}
	plain := storetest.New(t)
	server := httptest.NewUnstartedServer(plain.Config.Handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: us}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	url := "https://localhost" + server.URL[strings.LastIndex(server.URL, ":"):]

	push := func(o ClientOptions) (tries int, err error) {
		s := NewSender(client(t, o), SenderOptions{
			Pieces: PieceOptions{Labels: service}, TryFor: time.Minute,
			Retrying: func(error, time.Duration) { tries++ },
		})
		return tries, errors.Join(s.Enqueue(recorded("web", 1)), s.Drain(context.Background()))
	}
	if _, err := push(ClientOptions{URL: url, CAFile: serverCert, CertFile: ourCert, KeyFile: ourKey}); err != nil || len(plain.Pushes()) != 1 {
		t.Errorf("%v, %d pushes", err, len(plain.Pushes()))
	}
	for what, o := range map[string]ClientOptions{
		"an unknown server":           {URL: url, CertFile: ourCert, KeyFile: ourKey},
		"the certificate of another":  {URL: url, CAFile: ourCert, CertFile: ourCert, KeyFile: ourKey},
		"no certificate of our own":   {URL: url, CAFile: serverCert},
		"one that the server ignores": {URL: url, CAFile: serverCert, CertFile: serverCert, KeyFile: serverKey},
		"a server without TLS":        {URL: "https" + plain.URL[len("http"):]},
	} {
		tries, err := push(o)
		if err == nil || tries > 0 {
			t.Errorf("%s: tried again %d times: %v", what, tries, err)
		}
	}
	if n := len(plain.Pushes()); n != 1 {
		t.Errorf("%d pushes", n)
	}
}
