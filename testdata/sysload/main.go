// Sysload has a kernel do a little of many things again and again: mapping memory and files,
// faults, copies of processes, programs, files that are made and removed, descriptors of all
// kinds, pipes, sockets, and threads that move between CPUs. It is what kernels are compared
// with, function by function.
//
//	sysload SECONDS
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: sysload SECONDS")
		os.Exit(2)
	}
	seconds, err := strconv.Atoi(os.Args[1])
	if err == nil {
		err = run(time.Duration(seconds) * time.Second)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sysload:", err)
		os.Exit(1)
	}
}

// run takes turns until the time is over.
func run(limit time.Duration) error {
	dir, err := os.MkdirTemp("", "sysload")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	rounds := 0
	for start := time.Now(); time.Since(start) < limit; rounds++ {
		for _, part := range []func(dir string) error{memory, hugePages, mappedFile, programs, names, descriptors, contents, messages, threads} {
			if err := part(dir); err != nil {
				return err
			}
		}
	}
	fmt.Println(rounds, "rounds")
	return nil
}

const page = 4096

// memory maps memory, touches its pages, splits the mapping, and unmaps it.
func memory(string) error {
	for range 40 {
		const pages = 96
		m, err := unix.Mmap(-1, 0, pages*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			return err
		}
		for i := range pages {
			m[i*page] = 1
		}
		if err := unix.Mprotect(m[page:2*page], unix.PROT_READ); err != nil {
			return err
		}
		if err := unix.Munmap(m); err != nil {
			return err
		}
	}
	return nil
}

// hugePages touches memory that is to be in large pages, and gives a part of one back.
func hugePages(string) error {
	const huge = 2 << 20
	m, err := unix.Mmap(-1, 0, 3*huge, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	// Some kernels, or systems, have none.
	unix.Madvise(m, unix.MADV_HUGEPAGE)
	for i := 0; i < len(m); i += huge / 2 {
		m[i] = 1
	}
	if err := unix.Madvise(m[huge:huge+16*page], unix.MADV_DONTNEED); err != nil {
		return err
	}
	return unix.Munmap(m)
}

// mappedFile reads a file through mappings, and writes to a private one.
func mappedFile(dir string) error {
	const pages = 256
	name := filepath.Join(dir, "mapped")
	if err := os.WriteFile(name, make([]byte, pages*page), 0o600); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	var sum byte
	for i := range 20 {
		m, err := unix.Mmap(int(f.Fd()), 0, pages*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
		if err != nil {
			return err
		}
		for at := 0; at < len(m); at += page {
			if sum += m[at]; i%4 == 0 && at%(8*page) == 0 {
				m[at] = 1
			}
		}
		if err := unix.Munmap(m); err != nil {
			return err
		}
	}
	return nil
}

// programs starts some, and has a shell copy itself, whose pages are then written to by both.
func programs(string) error {
	for range 4 {
		if err := exec.Command("/bin/true").Run(); err != nil {
			return err
		}
	}
	return exec.Command("/bin/sh", "-c", "i=0; while [ $i -lt 15 ]; do (x=$i); i=$((i+1)); done").Run()
}

// names makes and removes files and directories, and looks them up.
func names(dir string) error {
	sub := filepath.Join(dir, "sub")
	for range 40 {
		if err := os.Mkdir(sub, 0o700); err != nil {
			return err
		}
		for i := range 8 {
			name := filepath.Join(sub, strconv.Itoa(i))
			f, err := os.Create(name)
			if err != nil {
				return err
			}
			f.Close()
			if err := unix.Access(name, unix.R_OK); err != nil {
				return err
			}
			if _, err := os.Stat(name); err != nil {
				return err
			}
			if err := os.Chmod(name, 0o640); err != nil {
				return err
			}
		}
		if _, err := os.ReadDir(sub); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(sub, "0"), filepath.Join(sub, "x")); err != nil {
			return err
		}
		if err := os.RemoveAll(sub); err != nil {
			return err
		}
	}
	return nil
}

// descriptors asks the kernel about some.
func descriptors(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	fd := int(f.Fd())
	var stat unix.Stat_t
	var fs unix.Statfs_t
	// Another thread that has the same descriptors makes each use of one count.
	done := make(chan bool)
	defer close(done)
	go func() { <-done }()
	for range 300 {
		if err := unix.Fstat(fd, &stat); err != nil {
			return err
		}
		if err := unix.Fstatfs(fd, &fs); err != nil {
			return err
		}
		if _, err := unix.Seek(fd, 0, 0); err != nil {
			return err
		}
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0); err != nil && err != unix.EINTR {
			return err
		}
		unix.IoctlGetInt(fd, unix.TIOCINQ) // which a directory has not
		other, err := unix.Dup(fd)
		if err != nil {
			return err
		}
		if err := unix.Close(other); err != nil {
			return err
		}
	}
	return nil
}

// contents writes a file, reads it, and cuts it off.
func contents(dir string) error {
	f, err := os.Create(filepath.Join(dir, "contents"))
	if err != nil {
		return err
	}
	defer f.Close()
	block := make([]byte, 4*page)
	for range 4 {
		for i := range 32 {
			if _, err := f.WriteAt(block, int64(i*len(block))); err != nil {
				return err
			}
		}
		for i := range 32 {
			if _, err := f.ReadAt(block, int64(i*len(block))); err != nil {
				return err
			}
		}
		if err := f.Truncate(page / 2); err != nil {
			return err
		}
	}
	return os.Remove(f.Name())
}

// messages go through a pipe and through sockets.
func messages(string) error {
	var pipe [2]int
	if err := unix.Pipe(pipe[:]); err != nil {
		return err
	}
	sockets, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET, 0)
	if err != nil {
		return err
	}
	b := make([]byte, 512)
	for range 300 {
		if _, err := unix.Write(pipe[1], b); err != nil {
			return err
		}
		if _, err := unix.Read(pipe[0], b); err != nil {
			return err
		}
		if err := unix.Sendto(sockets[0], b, 0, nil); err != nil {
			return err
		}
		if _, _, err := unix.Recvfrom(sockets[1], b, 0); err != nil {
			return err
		}
	}
	for _, fd := range []int{pipe[0], pipe[1], sockets[0], sockets[1]} {
		unix.Close(fd)
	}
	return nil
}

// threads compute and sleep, more of them than there are CPUs.
func threads(string) error {
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			for range 3 {
				pause := unix.NsecToTimespec(int64(1+i) * 300_000)
				unix.Nanosleep(&pause, nil)
				for start := time.Now(); time.Since(start) < time.Duration(2+i)*time.Millisecond; {
				}
			}
		})
	}
	all.Wait()
	return nil
}
