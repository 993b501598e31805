package store

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Reason says why a piece was lost.
type Reason uint8

// Why pieces are lost.
const (
	Evicted    Reason = iota // it was the oldest when the spool was full
	Expired                  // it became older than what the store takes
	Rejected                 // the store refused it for good
	Unreadable               // it was damaged on disk
	numReasons
)

var reasonNames = [numReasons]string{"evicted", "expired", "rejected", "unreadable"}

func (r Reason) String() string {
	if r < numReasons {
		return reasonNames[r]
	}
	return fmt.Sprintf("reason %d", uint8(r))
}

// Losses counts the pieces that were lost.
type Losses [numReasons]uint64

// Total is their number.
func (l *Losses) Total() (n uint64) {
	for _, x := range l {
		n += x
	}
	return n
}

// String lists what there is: "3 evicted, 1 rejected".
func (l *Losses) String() string {
	var parts []string
	for r, n := range l {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %v", n, Reason(r)))
		}
	}
	return strings.Join(parts, ", ")
}

// SpoolOptions bound a spool.
type SpoolOptions struct {
	MaxBytes int64         // on disk. Default: 256 MiB
	MaxAge   time.Duration // of profiles. Default: 1 h, as no store takes older ones
}

// Spool is a directory of requests that are still to be sent, a file each. A file has its
// name when all of it is on the disk; so what has been added is sent, or counted among the
// losses, however a process ends. Several processes may add to it; one at a time sends.
//
//	KKKK…-RRRRRRRR.push   time of adding, in ns, and a random number; oldest first
//	losses                how many pieces were lost, by reason
//	losses.lock           locked by who changes that
//	sending.lock          locked by who sends
//	tmp-…                 one that is being written
type Spool struct {
	o    SpoolOptions
	root *os.Root
	now  func() time.Time

	mu     sync.Mutex
	losses Losses
	last   int64 // name of the one added last
	used   int64 // bytes at the last look at all files, and what was added since
	added  int64 // since then; -1 before the first look
}

// ErrSending says that another process is sending from a spool.
var ErrSending = errors.New("another process is sending from the spool")

const (
	pushSuffix = ".push"
	tmpPrefix  = "tmp-"
	lossesName = "losses"
	lossesLock = "losses.lock"
	sendLock   = "sending.lock"
	spoolMagic = "kprofpush1\n"
	otlpMagic  = "kprofotlp1\n" // of requests of that protocol, as long
	// spoolHead is the magic, then time in ns, size of the profile, samples (8 bytes each,
	// little-endian), and the CRC-32 (IEEE) of these and of the request, which follows.
	spoolHead = len(spoolMagic) + 3*8 + 4
	// maxSpooled bounds what is read of a file.
	maxSpooled = 64 << 20
	// staleAfter is when a file that was begun is nobody's where files cannot be locked, and
	// lockedAfter when it is locked by who writes it.
	staleAfter  = 10 * time.Minute
	lockedAfter = time.Second
)

// OpenSpool opens a spool, and makes its directory if there is none.
func OpenSpool(dir string, o SpoolOptions) (*Spool, error) {
	if o.MaxBytes == 0 {
		o.MaxBytes = 256 << 20
	}
	if o.MaxAge == 0 {
		o.MaxAge = time.Hour
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	s := &Spool{o: o, root: root, now: time.Now, added: -1}
	if s.losses, err = s.readLosses(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", filepath.Join(dir, lossesName), err), root.Close())
	}
	return s, nil
}

// Close closes the directory.
func (s *Spool) Close() error { return s.root.Close() }

// Losses returns how many pieces have been lost since there is the spool.
func (s *Spool) Losses() Losses {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.losses
}

// lose counts a lost piece, on disk too: before it is gone from there.
func (s *Spool) lose(r Reason) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	unlock, err := s.lock(lossesLock, true)
	if err != nil {
		return err
	}
	defer unlock()
	if s.losses, err = s.readLosses(); err != nil {
		return err
	}
	if s.losses[r] < math.MaxUint64 {
		s.losses[r]++
	}
	var b strings.Builder
	for r, n := range s.losses {
		fmt.Fprintf(&b, "%v %d\n", Reason(r), n)
	}
	return s.write(lossesName, []byte(b.String()))
}

// lock locks a file of the spool until unlock, waiting for who has locked it; or
// returns ErrSending rather than to wait. The kernel unlocks what a process has locked
// that ends.
func (s *Spool) lock(name string, wait bool) (unlock func(), err error) {
	f, err := s.root.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f, wait); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil
}

func (s *Spool) readLosses() (losses Losses, err error) {
	f, err := s.root.Open(lossesName)
	if errors.Is(err, fs.ErrNotExist) {
		return losses, nil
	}
	if err != nil {
		return losses, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return losses, err
	}
	for line := range strings.Lines(string(b)) {
		name, count, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseUint(count, 10, 64)
		if err != nil {
			return losses, fmt.Errorf("%q is no count of losses", cut(strings.TrimSpace(line)))
		}
		if r := slices.Index(reasonNames[:], name); r >= 0 {
			losses[r] = n
		}
	}
	return losses, nil
}

// write makes a file of a name: all of it is on the disk, or none.
func (s *Spool) write(name string, parts ...[]byte) (err error) {
	tmp := tmpPrefix + randomName()
	f, err := s.root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.root.Remove(tmp))
		}
	}()
	if err := lockFile(f, false); err != nil { // until it is closed: see abandoned
		return errors.Join(err, f.Close())
	}
	for _, p := range parts {
		if _, err := f.Write(p); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	err = f.Sync()
	if !canLock { // nor may there be what is open renamed
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		err = s.root.Rename(tmp, name)
	}
	if canLock {
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return err
	}
	if d, err := s.root.Open("."); err == nil {
		_ = d.Sync() // of directories, not all file systems can
		_ = d.Close()
	}
	return nil
}

func randomName() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// add puts a request into the spool, and removes the oldest ones as far as it is too full.
func (s *Spool) add(r *request) error {
	head := make([]byte, 0, spoolHead)
	if r.protocol == OTLP {
		head = append(head, otlpMagic...)
	} else {
		head = append(head, spoolMagic...)
	}
	head = binary.LittleEndian.AppendUint64(head, uint64(r.time.UnixNano()))
	head = binary.LittleEndian.AppendUint64(head, uint64(r.size))
	head = binary.LittleEndian.AppendUint64(head, uint64(r.samples))
	sum := crc32.Update(crc32.ChecksumIEEE(head), crc32.IEEETable, r.message)
	head = binary.LittleEndian.AppendUint32(head, sum)
	size := int64(len(head) + len(r.message))
	if size > s.o.MaxBytes || size > maxSpooled {
		return s.lose(Evicted)
	}
	if err := s.makeRoom(size); err != nil {
		return err
	}
	s.mu.Lock()
	s.used += size
	s.added += size
	s.last = max(s.last+1, s.now().UnixNano())
	name := fmt.Sprintf("%020d-%s%s", s.last, randomName()[:8], pushSuffix)
	s.mu.Unlock()
	return s.write(name, head, r.message)
}

// makeRoom removes the oldest requests until another one of a size fits, and what
// processes that were killed had begun to write. It looks at all files only where they may
// be too many, or others may have added some.
func (s *Spool) makeRoom(size int64) error {
	s.mu.Lock()
	room := s.added >= 0 && s.used+size <= s.o.MaxBytes && s.added < s.o.MaxBytes/16
	s.mu.Unlock()
	if room {
		return nil
	}
	d, err := s.root.Open(".")
	if err != nil {
		return err
	}
	entries, err := d.ReadDir(-1)
	if err := errors.Join(err, d.Close()); err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	total := size
	defer func() {
		s.mu.Lock()
		s.used, s.added = total-size, 0
		s.mu.Unlock()
	}()
	sizes := map[string]int64{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue // gone, or not ours
		}
		if strings.HasPrefix(e.Name(), tmpPrefix) && s.abandoned(e.Name(), s.now().Sub(info.ModTime())) {
			if err := s.root.Remove(e.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			continue
		}
		sizes[e.Name()] = info.Size()
		total += info.Size()
	}
	for _, e := range entries {
		if total <= s.o.MaxBytes {
			return nil
		}
		if n, ok := sizes[e.Name()]; ok && strings.HasSuffix(e.Name(), pushSuffix) {
			if err := s.drop(e.Name(), Evicted); err != nil {
				return err
			}
			total -= n
		}
	}
	return nil
}

// abandoned reports whether who began to write a file, which has not been changed for some
// time, was killed.
func (s *Spool) abandoned(name string, unchanged time.Duration) bool {
	switch {
	case unchanged > staleAfter:
		return true
	case !canLock || unchanged < lockedAfter:
		return false
	}
	f, err := s.root.Open(name)
	if err != nil {
		return false // it has its name by now
	}
	defer f.Close()
	return lockFile(f, false) == nil
}

// drop counts a request as lost, and removes it. Where the disk is full, which a spool may have done
// itself, the request makes room for the count: who ends meanwhile leaves one that is counted as
// unreadable.
func (s *Spool) drop(name string, r Reason) error {
	err := s.lose(r)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		f, failed := s.root.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
		if failed == nil {
			failed = f.Close()
		}
		if failed != nil {
			return errors.Join(err, failed)
		}
		err = s.lose(r)
	}
	if err != nil {
		return err
	}
	return s.remove(name)
}

func (s *Spool) remove(name string) error {
	if err := s.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// names are the requests in the spool, oldest first.
func (s *Spool) names() ([]string, error) {
	d, err := s.root.Open(".")
	if err != nil {
		return nil, err
	}
	all, err := d.Readdirnames(-1)
	if err := errors.Join(err, d.Close()); err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(n string) bool { return !strings.HasSuffix(n, pushSuffix) })
	slices.Sort(all)
	return all, nil
}

// Len is how many requests are in the spool.
func (s *Spool) Len() (int, error) {
	names, err := s.names()
	return len(names), err
}

// errDamaged says that a file of the spool is not what was written.
var errDamaged = errors.New("damaged")

// read returns a request of the spool.
func (s *Spool) read(name string) (*request, error) {
	f, err := s.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, errors.Join(err, errDamaged)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxSpooled+1))
	if err != nil {
		return nil, err
	}
	return parseSpooled(b)
}

// parseSpooled reads what a file of the spool holds.
func parseSpooled(b []byte) (*request, error) {
	if len(b) < spoolHead || len(b) > maxSpooled {
		return nil, errDamaged
	}
	protocol := Pyroscope
	switch string(b[:len(spoolMagic)]) {
	case spoolMagic:
	case otlpMagic:
		protocol = OTLP
	default:
		return nil, errDamaged
	}
	head, message := b[:spoolHead-4], b[spoolHead:]
	if crc32.Update(crc32.ChecksumIEEE(head), crc32.IEEETable, message) != binary.LittleEndian.Uint32(b[spoolHead-4:]) {
		return nil, errDamaged
	}
	numbers := head[len(spoolMagic):]
	return &request{
		protocol: protocol,

		time:    time.Unix(0, int64(binary.LittleEndian.Uint64(numbers))),
		size:    int(binary.LittleEndian.Uint64(numbers[8:])),
		samples: int64(binary.LittleEndian.Uint64(numbers[16:])),
		message: message,
	}, nil
}
