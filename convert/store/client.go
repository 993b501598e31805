package store

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"kprof/convert/infile"
)

// Protocol is what a store speaks.
type Protocol uint8

const (
	// Pyroscope is the API of Grafana Pyroscope, which takes profiles and answers queries.
	Pyroscope Protocol = iota
	// OTLP is that of receivers of OpenTelemetry, which take profiles only: by HTTP, as
	// protocol buffers. Its profiles are in development and may change without notice.
	OTLP
)

func (p Protocol) String() string {
	if p == OTLP {
		return "otlp"
	}
	return "pyroscope"
}

// ProtocolOf is what the store at an address speaks, as far as the address says it: OTLP
// where it ends with the path of that.
func ProtocolOf(address string) Protocol {
	if strings.HasSuffix(strings.TrimSuffix(address, "/"), otlpPath) {
		return OTLP
	}
	return Pyroscope
}

// ClientOptions say where a store is, and who asks. Secrets come from files. Regular ones
// are read again for each request, since what is in them may be replaced; others, such as
// pipes, once. Certificates that cannot be used, as one that does not belong to its key yet,
// replace none.
type ClientOptions struct {
	// URL is http:// or https://, with the path below which the store's services are; of
	// OTLP that, or the whole path.
	URL string
	// Protocol is the one of ProtocolOf(URL) by default.
	Protocol Protocol

	Tenant string // "" for a store of one tenant
	// Header has further headers, with names as http.Header.Add writes them: see CheckHeader. Host is
	// what requests say instead of the host of URL, to which they go nevertheless.
	Header http.Header

	// HeaderFile has further headers, a line each, as in "X-Key: secret".
	HeaderFile string

	BearerFile    string // with a token
	BasicAuthFile string // with USER:PASSWORD
	CAFile        string // certificates, PEM, of those who may sign the store's; default the system's
	CertFile      string // our own certificate, PEM
	KeyFile       string // and its key

	Timeout time.Duration // of one request. Default: 30 s
	// Proxy says which proxy to ask, as in http.Transport. Default: none.
	Proxy func(*http.Request) (*url.URL, error)
}

// Client makes requests to a store.
type Client struct {
	o       ClientOptions
	base    string
	once    map[string]string // what files hold that can be read once only
	readers sync.Mutex

	connecting sync.Mutex
	http       *http.Client // of the certificates held
	held       certificates
}

// maxSecret bounds a file with a secret.
const maxSecret = 64 << 10

// NewClient checks the options, and reads the files.
func NewClient(o ClientOptions) (*Client, error) {
	u, err := url.Parse(o.URL)
	switch {
	case err != nil: // may quote a password
		return nil, errors.New("the address of the store is not a URL")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("%q is no address of a store, such as http://localhost:4040", u.Redacted())
	case u.User != nil:
		return nil, fmt.Errorf("%s: a password does not belong into an address, but into a file", u.Redacted())
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("%q: the address of a store ends with its path", u.Redacted())
	case o.BearerFile != "" && o.BasicAuthFile != "":
		return nil, errors.New("a token and a password exclude each other")
	case (o.CertFile == "") != (o.KeyFile == ""):
		return nil, errors.New("a certificate and its key go together")
	}
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Protocol == Pyroscope {
		o.Protocol = ProtocolOf(o.URL)
	}
	c := &Client{o: o, base: strings.TrimSuffix(u.String(), "/"), once: map[string]string{}}
	for name, values := range o.Header {
		for _, v := range values {
			if err := CheckHeader(name, v); err != nil {
				return nil, err
			}
		}
	}
	if _, err := c.secretHeader(); err != nil {
		return nil, err
	}
	if _, err := c.connections(); err != nil {
		return nil, err
	}
	return c, nil
}

// Unencrypted reports whether secrets would go over a network that others may listen to.
func (c *Client) Unencrypted() bool {
	u, err := url.Parse(c.base)
	if err != nil || u.Scheme == "https" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) &&
		(c.o.BearerFile != "" || c.o.BasicAuthFile != "" || c.o.HeaderFile != "" || len(c.o.Header) > 0)
}

// URL is the store's address.
func (c *Client) URL() string { return c.base }

// Close gives up idle connections.
func (c *Client) Close() {
	c.connecting.Lock()
	defer c.connecting.Unlock()
	c.http.CloseIdleConnections()
}

// secretHeader is what the files with secrets say.
func (c *Client) secretHeader() (http.Header, error) {
	h := http.Header{}
	if c.o.HeaderFile != "" {
		lines, err := c.secret(c.o.HeaderFile)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(lines) {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			key, value, ok := strings.Cut(line, ":")
			value = strings.TrimSpace(value)
			if !ok {
				return nil, fmt.Errorf("%s: wants lines of NAME: VALUE", c.o.HeaderFile)
			}
			if err := CheckHeader(key, value); err != nil {
				return nil, fmt.Errorf("%s: %w", c.o.HeaderFile, err)
			}
			h.Add(key, value)
		}
	}
	name := c.o.BearerFile + c.o.BasicAuthFile
	if name == "" {
		return h, nil
	}
	secret, err := c.secret(name)
	secret = strings.TrimSpace(secret)
	switch {
	case err != nil:
		return nil, err
	case secret == "" || CheckHeader("Authorization", secret) != nil:
		return nil, fmt.Errorf("%s: wants one line", name)
	case c.o.BearerFile != "":
		h.Set("Authorization", "Bearer "+secret)
	case !strings.Contains(secret, ":"):
		return nil, fmt.Errorf("%s: wants USER:PASSWORD", name)
	default:
		h.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(secret)))
	}
	return h, nil
}

// CheckHeader says what is wrong with a header of the user's, nil if it can be sent: neither its
// name (RFC 9110, a token) nor its value may be of other characters than those have, and it must
// not say what requests say themselves. The error has nothing of the value.
func CheckHeader(name, value string) error {
	other := func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r) }
	control := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	switch key := http.CanonicalHeaderKey(name); {
	case name == "" || strings.ContainsFunc(name, other) || strings.ContainsFunc(value, control):
		return errors.New("a header is NAME: VALUE")
	case key == "Host":
		if u, err := url.Parse("http://" + value); err != nil || u.Host != value || value == "" {
			return errors.New("the header Host wants HOST or HOST:PORT")
		}
	case slices.Contains(ownHeaders, key):
		return fmt.Errorf("requests set the header %s themselves", key)
	}
	return nil
}

// ownHeaders are those that post sets, or net/http, which sends no others and decodes no answers
// but those for which it asked.
var ownHeaders = []string{"Accept-Encoding", "Connect-Protocol-Version", "Content-Encoding", "Content-Length", "Content-Type", "Trailer", "Transfer-Encoding"}

// secret is what a file holds.
func (c *Client) secret(name string) (string, error) {
	s, err := c.fileText(name, maxSecret)
	if errors.Is(err, errLarge) {
		err = fmt.Errorf("%s: larger than a secret is", name)
	}
	return s, err
}

// fileText is what a file holds: an error that is errLarge where that is more than limit bytes.
func (c *Client) fileText(name string, limit int64) (string, error) {
	c.readers.Lock()
	defer c.readers.Unlock()
	if s, ok := c.once[name]; ok {
		return s, nil
	}
	f, err := infile.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	switch {
	case err != nil:
		return "", err
	case int64(len(b)) > limit:
		return "", fmt.Errorf("%s: %w", name, errLarge)
	case !st.Mode().IsRegular():
		c.once[name] = string(b)
	}
	return string(b), nil
}

// errLarge says that a file is larger than what it should hold.
var errLarge = errors.New("the file is too large")

// Error is what a store answers instead of a result.
type Error struct {
	Status     int    // of HTTP
	Code       string // of Connect, such as "resource_exhausted"; "" where it does not tell
	Message    string // its words, at most a line of them
	RetryAfter time.Duration
	Protocol   Protocol
}

func (e *Error) Error() string {
	what := e.Code
	if what == "" {
		what = strings.TrimSpace(fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status)))
	}
	if e.Message == "" {
		return "the store answers " + what
	}
	return fmt.Sprintf("the store answers %s: %s", what, e.Message)
}

// Temporary reports whether the same request may succeed later: the store is out of
// something, or does not know itself what is wrong (a part of it that is down is an
// "unknown" error, and 500). Of OTLP, only what its specification lists may be tried again.
func (e *Error) Temporary() bool {
	if e.Protocol == OTLP {
		return slices.Contains([]int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, e.Status)
	}
	switch e.Code {
	case "resource_exhausted", "unavailable", "unknown", "internal", "aborted", "deadline_exceeded", "canceled":
		return true
	case "":
		return e.Status == http.StatusTooManyRequests || e.Status == http.StatusRequestTimeout || e.Status >= 500 && e.Status != http.StatusNotImplemented
	}
	return false
}

// lateError is a context.DeadlineExceeded of [ClientOptions].Timeout.
type lateError struct{ timeout time.Duration }

func (e *lateError) Error() string {
	return fmt.Sprintf("no answer within the timeout of a request, %v", e.timeout)
}

func (e *lateError) Unwrap() error { return context.DeadlineExceeded }

// temporary reports whether an error of a request may pass: those of the network may, but
// not those of who cannot prove who they are, or speak something else.
func temporary(err error) bool {
	var e *Error
	if errors.As(err, &e) {
		return e.Temporary()
	}
	if errors.Is(err, errAnswer) {
		return false
	}
	var n net.Error
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var op *net.OpError
	alert := errors.As(err, &op) && op.Op == "remote error" // so crypto/tls calls alerts of TLS
	if alert || errors.As(err, &cert) || errors.As(err, &record) || errors.Is(err, http.ErrSchemeMismatch) {
		return false
	}
	return errors.As(err, &n) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.DeadlineExceeded)
}

const (
	maxErrorBody   = 64 << 10
	maxMessage     = 300
	maxRetryAfter  = time.Minute
	maxPushAnswer  = 1 << 20
	maxQueryAnswer = 512 << 20
)

// push sends the message of a request.
func (c *Client) push(ctx context.Context, message []byte) error {
	if c.o.Protocol != OTLP {
		_, err := c.call(ctx, pushProcedure, message, maxPushAnswer)
		return err
	}
	header := http.Header{"Content-Type": {"application/x-protobuf"}, "Content-Encoding": {"gzip"}}
	answer, err := c.post(ctx, otlpPath, header, message, maxPushAnswer, isOTLPAnswer)
	switch {
	case err != nil || len(answer.body) == 0: // nothing, of whatever type, is that all is well
		return err
	case isJSON(answer.contentType):
		return parseJSONPartial(answer.body, answer.sent.shown)
	}
	return parsePartial(answer.body, answer.sent.shown)
}

// call makes one unary call of Connect, and returns its answer of at most limit bytes.
func (c *Client) call(ctx context.Context, procedure string, message []byte, limit int64) ([]byte, error) {
	if c.o.Protocol == OTLP {
		return nil, errors.New("receivers of OpenTelemetry take profiles, and answer no questions")
	}
	header := http.Header{"Content-Type": {"application/proto"}, "Connect-Protocol-Version": {"1"}}
	answer, err := c.post(ctx, "/"+procedure, header, message, limit, func(t string) bool { return strings.HasPrefix(t, "application/proto") })
	return answer.body, err
}

// answer is what a store answers.
type answer struct {
	contentType string
	body        []byte
	sent        secrets // which it may repeat
}

// post sends a message, and returns the answer, which must be of a content type of ours. One of
// OTLP may have any status of success, as the Collector's exporter has it; one of Connect is 200.
func (c *Client) post(ctx context.Context, path string, header http.Header, message []byte, limit int64, ours func(contentType string) bool) (a answer, err error) {
	theirs, limited := ctx.Deadline()
	end := time.Now().Add(c.o.Timeout)
	ctx, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	defer func() {
		if errors.Is(err, context.DeadlineExceeded) && !(limited && theirs.Before(end)) {
			err = &lateError{c.o.Timeout}
		}
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(c.base, path)+path, bytes.NewReader(message))
	if err != nil {
		return a, err
	}
	for k, v := range c.o.Header {
		req.Header[k] = v
	}
	secret, err := c.secretHeader()
	if err != nil {
		return a, err
	}
	maps.Copy(req.Header, secret)
	if c.o.Tenant != "" {
		req.Header.Set("X-Scope-OrgID", c.o.Tenant)
	}
	a.sent = secretsOf(req.Header)
	maps.Copy(req.Header, header)
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "kprof")
	}
	if host := req.Header.Get("Host"); host != "" { // which net/http takes from there alone
		req.Host = host
		req.Header.Del("Host")
	}
	connections, err := c.connections()
	if err != nil {
		return a, err
	}
	resp, err := connections.Do(req)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK && (c.o.Protocol != OTLP || resp.StatusCode/100 != 2) {
		e := answeredError(resp, a.sent.shown)
		e.Protocol = c.o.Protocol
		return a, e
	}
	a.contentType = resp.Header.Get("Content-Type")
	if !ours(a.contentType) {
		return a, &Error{Status: resp.StatusCode, Message: fmt.Sprintf("%s is no call of a store: it answers with %q", strings.TrimPrefix(path, "/"), a.sent.shown(a.contentType))}
	}
	a.body, err = io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case err != nil:
		return a, fmt.Errorf("%s: %w", strings.TrimPrefix(path, "/"), err)
	case int64(len(a.body)) > limit:
		return a, fmt.Errorf("%s: the answer has more than %d MiB", strings.TrimPrefix(path, "/"), limit>>20)
	}
	return a, nil
}

// connectCodes are those of errors (https://connectrpc.com/docs/protocol#error-codes).
var connectCodes = []string{
	"canceled", "unknown", "invalid_argument", "deadline_exceeded", "not_found", "already_exists", "permission_denied", "resource_exhausted",
	"failed_precondition", "aborted", "out_of_range", "unimplemented", "internal", "unavailable", "data_loss", "unauthenticated",
}

// answeredError is the error in a response, of whose words shown is shown.
func answeredError(resp *http.Response, shown func(string) string) *Error {
	e := &Error{Status: resp.StatusCode, RetryAfter: retryAfter(resp.Header)}
	if resp.StatusCode == http.StatusSwitchingProtocols { // what follows ends with no context
		return e
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil && len(body) == 0 {
		return e
	}
	var told struct{ Code, Message string }
	if isOTLP(resp.Header.Get("Content-Type")) {
		e.Message = shown(statusText(body))
	} else if json.Unmarshal(body, &told) == nil && told.Code != "" {
		if e.Code, e.Message = told.Code, shown(told.Message); !slices.Contains(connectCodes, e.Code) {
			e.Code = shown(e.Code)
		}
	} else if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		e.Message = "it is elsewhere: " + shown(resp.Header.Get("Location"))
	} else {
		line, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
		e.Message = shown(line)
	}
	return e
}

// retryAfter is how long a store asks to wait, in seconds or until a time of its clock (RFC 9110,
// 10.2.3); 0 if it does not.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if s, err := strconv.Atoi(text); err == nil {
		return min(time.Duration(min(max(s, 0), 3600))*time.Second, maxRetryAfter)
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return min(max(until.Sub(now), 0), maxRetryAfter)
}

// cut is what of a stranger's text is shown.
func cut(s string) string {
	if len(s) > maxMessage {
		s = s[:maxMessage] + "…"
	}
	return strings.ToValidUTF8(s, "?")
}
