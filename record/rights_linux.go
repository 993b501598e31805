package record

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"kprof/perfevent"
)

// A recorder needs most of its rights to open events. What it does then, for as
// long as it records and while it names what it recorded, is to read what other
// people's processes can influence. So all threads give up what only opening
// needs, but for one that is locked and runs nothing but what it is given:
// counters of CPUs that come, the removal of probes, and what whoever uses the
// session has.
//
// Capabilities belong to threads, which share their memory: this is no wall
// against code that somebody else has brought into the process. It is one against
// being led to open what whoever leads may not.

// lastingRights are those that every thread keeps:
//
//   - CAP_SYS_PTRACE: /proc/PID of processes that have more rights than we, which
//     then are all of root's, and of those of other users: maps, root, map_files.
//   - CAP_DAC_READ_SEARCH: the files that these have mapped, wherever they are.
//   - CAP_CHECKPOINT_RESTORE: to follow the links in map_files, which lead to
//     files that were deleted or are in another mount namespace. Kernels before
//     5.9 want CAP_SYS_ADMIN for it.
//   - CAP_KILL: to pass a signal on to a command that runs as another user.
func lastingRights() perfevent.Capabilities {
	links := unix.CAP_CHECKPOINT_RESTORE
	if !perfevent.KnowsCapability(links) {
		links = unix.CAP_SYS_ADMIN
	}
	return perfevent.CapabilitiesOf(unix.CAP_SYS_PTRACE, unix.CAP_DAC_READ_SEARCH, links, unix.CAP_KILL)
}

// openingRights are those that the one thread has besides:
//
//   - CAP_PERFMON: events of CPUs that come. Kernels before 5.8 want
//     CAP_SYS_ADMIN for it.
//   - CAP_IPC_LOCK, CAP_SYS_RESOURCE: their rings, and files beyond the limit.
//   - CAP_SYSLOG: addresses of the kernel, for probes at functions.
//   - CAP_DAC_OVERRIDE, CAP_FOWNER: probes, where tracefs is not root's, and a
//     file in a directory of whoever has called sudo.
func openingRights() perfevent.Capabilities {
	events := unix.CAP_PERFMON
	if !perfevent.KnowsCapability(events) {
		events = unix.CAP_SYS_ADMIN
	}
	return perfevent.CapabilitiesOf(events, unix.CAP_IPC_LOCK, unix.CAP_SYS_RESOURCE, unix.CAP_SYSLOG, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER)
}

// DropRights has all threads of the process give up what only opening needs, but
// for the session's own. It is to be called before anything is opened that the
// targets have a say in: a thread that such a file keeps waiting would keep the
// whole process. Where it fails with errors.ErrUnsupported, the program has C code
// and keeps what it has.
func (s *Session) DropRights() error {
	had, err := perfevent.ThreadCapabilities()
	if err != nil {
		return err
	}
	lasting := had & lastingRights()
	all := lasting | had&openingRights()
	if had == lasting {
		return nil
	}
	// All remain permitted: a thread can get back only those, and there is no
	// way to leave one thread out.
	if err := perfevent.SetCapabilities(lasting, all); err != nil {
		return err
	}
	return s.WithRights(func() error { return perfevent.SetThreadCapabilities(all, all) })
}

// WithRights runs f on the thread that has kept its rights, and waits for it. It
// may be called until the session is closed, by one goroutine at a time, and not
// by f. When it is closed, that is an os.ErrClosed.
func (s *Session) WithRights(f func() error) error {
	if s.owners == nil {
		return fmt.Errorf("the session is closed: %w", os.ErrClosed)
	}
	return s.owners.run(f)
}
