package synth

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"kprof/perfevent/abi"
	"kprof/perfevent/procfs"
)

// kernel writes the map of the kernel itself, of its modules and BPF programs.
// Without the right to see addresses there is nothing to write: perf then says
// so when it reports.
func (s *synth) kernel() error {
	now := s.clock.Now()
	k, err := s.kallsyms()
	if err != nil {
		return err
	}
	withIDs := s.opts.Attr.Flags&abi.FlagBuildID != 0
	if k.start != 0 {
		m := mapping{
			// perf finds by how much the kernel was moved from the symbol in
			// the name and its address in off.
			addr: k.start, off: k.start, len: k.end - k.start,
			name: []byte("[kernel.kallsyms]"),
		}
		var id []byte
		if withIDs {
			id = procfs.ReadBuildID(s.sysfs(), procfs.KernelNotes)
		}
		if err := s.mmap(0, -1, 0, abi.MiscKernel, &m, id, []byte(k.startName)); err != nil {
			return err
		}
	}
	if err := s.modules(withIDs); err != nil {
		return err
	}
	if s.opts.Attr.Flags&abi.FlagKsymbol == 0 {
		return nil
	}
	for i, p := range k.bpf {
		// kallsyms has no sizes: a program ends where the next one starts, or
		// with its page.
		end := p.addr&^0xfff + 0x1000
		if i+1 < len(k.bpf) && k.bpf[i+1].addr-p.addr < 1<<20 {
			end = k.bpf[i+1].addr
		}
		if err := s.ksymbol(now, p.addr, uint32(end-p.addr), []byte(p.name)); err != nil {
			return err
		}
	}
	return nil
}

// kallsyms is what synth needs of /proc/kallsyms. Addresses are 0 when they are
// hidden (kernel.kptr_restrict).
type kallsyms struct {
	start, end uint64
	startName  string // "_text", or "_stext" where there is no such symbol
	bpf        []kernelSymbol
}

type kernelSymbol struct {
	addr uint64
	name string
}

func (s *synth) kallsyms() (k kallsyms, err error) {
	name := s.opts.Root + "/proc/kallsyms"
	if s.opts.Kallsyms != nil {
		return readKallsyms(bytes.NewReader(s.opts.Kallsyms), name)
	}
	f, err := os.Open(name)
	if os.IsNotExist(err) {
		return k, nil // CONFIG_KALLSYMS is off
	}
	if err != nil {
		return k, err
	}
	defer f.Close() // only read
	return readKallsyms(f, name)
}

func readKallsyms(r io.Reader, name string) (k kallsyms, err error) {
	var text procfs.KernelText
	err = procfs.ReadSymbols(r, func(s *procfs.Symbol) bool {
		switch {
		case s.Module != nil:
			if string(s.Module) == "bpf" && s.Addr != 0 {
				k.bpf = append(k.bpf, kernelSymbol{s.Addr, string(s.Name)})
			}
		default:
			text.Add(s)
		}
		return true
	})
	var format *procfs.FormatError
	if err != nil && !errors.As(err, &format) { // what a malformed line is of, nobody knows
		return k, fmt.Errorf("read %s: %w", name, err)
	}
	slices.SortFunc(k.bpf, func(a, b kernelSymbol) int { return cmp.Compare(a.addr, b.addr) })
	k.start, k.end, k.startName = text.Range()
	return k, nil
}

func (s *synth) sysfs() fs.FS { return os.DirFS(s.opts.Root + "/sys") }

// modules writes a map of the text of each loaded module, under the path of its file
// where modules.dep has one.
func (s *synth) modules(withIDs bool) error {
	f, err := os.Open(s.opts.Root + "/proc/modules")
	if err != nil {
		return nil // a kernel without modules
	}
	defer f.Close() // only read
	loaded, err := procfs.ReadModules(f)
	var format *procfs.FormatError
	if err != nil && !errors.As(err, &format) {
		return fmt.Errorf("read %s: %w", f.Name(), err)
	}
	if len(loaded) == 0 {
		return nil
	}
	paths := modulePaths(s.opts.Root)
	for _, l := range loaded {
		if l.Addr == 0 {
			continue // hidden
		}
		m := mapping{addr: l.Addr, len: l.TextSize, name: []byte("[" + l.Name + "]")}
		if p := paths[l.Name]; p != "" {
			m.name = []byte(p)
		}
		var id []byte
		if withIDs {
			id = procfs.ReadBuildID(s.sysfs(), procfs.ModuleNotes(l.Name))
		}
		if err := s.mmap(0, -1, 0, abi.MiscKernel, &m, id, nil); err != nil {
			return err
		}
	}
	return nil
}

// modulePaths maps the names of modules to their files, by modules.dep of the
// running kernel.
func modulePaths(root string) map[string]string {
	release, err := os.ReadFile(root + "/proc/sys/kernel/osrelease")
	if err != nil {
		return nil
	}
	dir := "/lib/modules/" + string(bytes.TrimSpace(release))
	b, err := os.ReadFile(root + dir + "/modules.dep")
	if err != nil {
		return nil
	}
	paths := map[string]string{}
	for line := range strings.Lines(string(b)) {
		p, _, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		if !path.IsAbs(p) {
			p = path.Join(dir, p)
		}
		name, _, _ := strings.Cut(path.Base(p), ".") // .ko, .ko.xz
		paths[strings.ReplaceAll(name, "-", "_")] = p
	}
	return paths
}

// cgroups writes the cgroups that exist. Their ids are the inode numbers of
// their directories (kernfs, Linux 5.5, on 64-bit machines).
func (s *synth) cgroups() error {
	root := cgroupRoot(s.opts.Root)
	if root == "" {
		return nil
	}
	now := s.clock.Now()
	return filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // it was removed, or is a file
		}
		st, err := os.Lstat(p)
		if err != nil {
			return nil
		}
		rel := "/" + strings.TrimPrefix(strings.TrimPrefix(p, root), "/")
		return s.cgroup(now, st.Sys().(*syscall.Stat_t).Ino, rel)
	})
}

// cgroupRoot is where the hierarchy that perf events use is mounted: one of
// their own in version 1, else version 2. Empty when there is none.
func cgroupRoot(root string) string {
	b, _ := os.ReadFile(root + "/proc/self/mounts")
	v2 := ""
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 4 {
			continue
		}
		switch {
		case f[2] == "cgroup" && slices.Contains(strings.Split(f[3], ","), "perf_event"):
			return root + f[1]
		case f[2] == "cgroup2" && v2 == "":
			v2 = root + f[1]
		}
	}
	return v2
}
