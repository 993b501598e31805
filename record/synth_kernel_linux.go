package record

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"kprof/perfevent/abi"
)

// kernel writes the map of the kernel itself, of its modules and BPF programs.
// Without the right to see addresses there is nothing to write: perf then says
// so when it reports.
func (s *synth) kernel() error {
	now := s.clock.now()
	k, err := readKallsyms("/proc/kallsyms")
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
			id = noteFile("/sys/kernel/notes")
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

func readKallsyms(name string) (k kallsyms, err error) {
	f, err := os.Open(name)
	if os.IsNotExist(err) {
		return k, nil // CONFIG_KALLSYMS is off
	}
	if err != nil {
		return k, err
	}
	defer f.Close()
	r := bufio.NewScanner(f)
	r.Buffer(make([]byte, 64<<10), 1<<20)
	var text, stext, etext uint64
	for r.Scan() {
		line := r.Bytes()
		// "ffffffff81000000 T _text", "… t bpf_prog_x\t[bpf]"
		addr, rest, ok := bytes.Cut(line, []byte(" "))
		if !ok || len(rest) < 3 {
			continue
		}
		switch sym := rest[2:]; {
		case text == 0 && string(sym) == "_text":
			text = hexNumber(addr)
		case stext == 0 && string(sym) == "_stext":
			stext = hexNumber(addr)
		case string(sym) == "_etext":
			etext = hexNumber(addr)
		case bytes.HasSuffix(sym, []byte("\t[bpf]")):
			if a := hexNumber(addr); a != 0 {
				k.bpf = append(k.bpf, kernelSymbol{a, string(sym[:len(sym)-len("\t[bpf]")])})
			}
		}
	}
	if err := r.Err(); err != nil {
		return k, fmt.Errorf("read %s: %w", name, err)
	}
	slices.SortFunc(k.bpf, func(a, b kernelSymbol) int { return cmp.Compare(a.addr, b.addr) })
	k.start, k.startName = text, "_text"
	if text == 0 {
		k.start, k.startName = stext, "_stext"
	}
	if k.end = etext; k.end <= k.start {
		k.end = 1<<64 - 1 // perf's way to say that it does not know
	}
	return k, nil
}

func hexNumber(b []byte) uint64 {
	v, _ := strconv.ParseUint(string(b), 16, 64)
	return v
}

// noteFile is the build id in a file of ELF notes in sysfs.
func noteFile(name string) []byte {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil
	}
	return buildIDNote(b, binary.NativeEndian, 4)
}

// modules writes a map for each loaded module, under the path of its file where
// modules.dep has one.
func (s *synth) modules(withIDs bool) error {
	b, err := os.ReadFile("/proc/modules")
	if err != nil || len(b) == 0 {
		return nil // a kernel without modules
	}
	paths := modulePaths()
	for line := range strings.Lines(string(b)) {
		// name size refcount users state address
		f := strings.Fields(line)
		if len(f) < 6 {
			continue
		}
		size, err := strconv.ParseUint(f[1], 10, 64)
		addr, err2 := strconv.ParseUint(f[5], 0, 64)
		if err != nil || err2 != nil || addr == 0 {
			continue
		}
		m := mapping{addr: addr, len: size, name: []byte("[" + f[0] + "]")}
		if p := paths[f[0]]; p != "" {
			m.name = []byte(p)
		}
		var id []byte
		if withIDs {
			id = noteFile("/sys/module/" + f[0] + "/notes/.note.gnu.build-id")
		}
		if err := s.mmap(0, -1, 0, abi.MiscKernel, &m, id, nil); err != nil {
			return err
		}
	}
	return nil
}

// modulePaths maps the names of modules to their files, by modules.dep of the
// running kernel.
func modulePaths() map[string]string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return nil
	}
	dir := "/lib/modules/" + unix.ByteSliceToString(u.Release[:])
	b, err := os.ReadFile(dir + "/modules.dep")
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
	root := cgroupRoot()
	if root == "" {
		return nil
	}
	now := s.clock.now()
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
func cgroupRoot() string {
	b, _ := os.ReadFile("/proc/self/mounts")
	v2 := ""
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 4 {
			continue
		}
		switch {
		case f[2] == "cgroup" && slices.Contains(strings.Split(f[3], ","), "perf_event"):
			return f[1]
		case f[2] == "cgroup2" && v2 == "":
			v2 = f[1]
		}
	}
	return v2
}
