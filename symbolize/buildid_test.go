package symbolize

import (
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kprof/perfevent/livetest"
	"kprof/symbolize/elfsym"
	"kprof/symbolize/mapping"
	"kprof/symbolize/regular"
)

// TestBuildIDsOf: under which build ids a file may be kept.
func TestBuildIDsOf(t *testing.T) {
	livetest.Table(t, func(recorded string) string { return strings.Join(buildIDsOf(recorded), " ") }, map[string]string{
		"A1b2c3": "a1b2c3", "a1b2c0": "a1b2c0", "a1b200": "a1b200 a1b2", "A1B2000000": "a1b2000000 a1b2",
		"": "", "0000": "", "a1": "", "a10000": "",
		"../../../../etc/passwd": "", "a1/b2": "", "a1b2/../../c3": "", "a1\x00b2": "", "Go build id": "",
	})
}

// TestBuildIDWithZeros: of 256 build ids one ends in a zero byte, which is part of the paths where
// files are kept by build id, and of the addresses where servers have them. Those of less than 20
// bytes, as perf.data may have padded them, are found too.
func TestBuildIDWithZeros(t *testing.T) {
	for id, recorded := range map[string]string{
		"0102030405060708090a0b0c0d0e0f1011121300": "0102030405060708090A0B0C0D0E0F1011121300",
		"0102030405060708090a0b0c0d0e0f00":         "0102030405060708090a0b0c0d0e0f00",
		"0102030405060708090a0b0c0d0e0f10":         "0102030405060708090a0b0c0d0e0f1000000000",
	} {
		flag := "-Wl,--build-id=0x" + id
		program, off, _ := program(t, waiting, "-DNUMBER=1", flag)
		kernel, _, addrs := miniature(t, flag)
		dir := t.TempDir()
		object, module := filepath.Join(dir, "m.o"), filepath.Join(dir, "ext4.ko")
		livetest.Run(t, "gcc", "-O2", "-g", "-c", "-ffreestanding", "-fno-pie", "-o", object, "testdata/module.c")
		livetest.Run(t, "ld", "-r", "--build-id=0x"+id, "-o", module, object)
		file, err := elfsym.Open(module, elfsym.Options{Module: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(file.BuildID()); got != id {
			t.Fatalf("build id %s, want %s", got, id)
		}
		file.Close()

		const base = 0xffffffffc0a00000
		byID := filepath.Join(".build-id", id[:2], id[2:])
		for _, f := range []struct {
			what, file string
			cached     string // its name in perf's cache
			served     string // what a server calls it
			m          Mapping
			addr       uint64
			want       string
		}{
			{"program", program, "elf", "executable", Mapping{Kind: mapping.User, File: "/gone/prog"}, off, "f"},
			{"kernel", kernel, "vmlinux", "debuginfo",
				Mapping{Kind: mapping.Kernel, File: "[kernel.kallsyms]", Symbol: "_text", Offset: addrs["_text"]}, addrs["vfs_write"], "vfs_write"},
			{"module", module, "elf", "debuginfo",
				Mapping{Kind: mapping.Module, File: "[ext4]", Start: base, Limit: base + 0x10000}, base + 3, "ext4_map"},
		} {
			f.m.BuildID = recorded
			cache, tree := t.TempDir(), t.TempDir()
			install(t, f.file, cache, filepath.Join(byID, f.cached))
			install(t, f.file, tree, byID+".debug")
			_, url := serve(t, map[string]string{"/buildid/" + id + "/" + f.served: f.file})
			for where, opts := range map[string]Options{
				"perf's cache": {BuildIDCache: cache}, "the debug tree": {DebugDirs: []string{tree}}, "a server": {DebuginfodURLs: []string{url}},
			} {
				if f.m.Kind == mapping.User && opts.DebugDirs != nil {
					continue // has debug files only
				}
				if opts.Foreign = true; opts.DebugDirs == nil {
					opts.DebugDirs = []string{}
				}
				s := New(opts)
				if got, err := names(t, s, f.m, f.addr); got[0] != f.want {
					t.Errorf("%s with build id %s, recorded %s, in %s: %q, %v", f.what, id, recorded, where, got, err)
				}
				if _, err := s.Code(f.m); err != nil {
					t.Errorf("code of %s with build id %s, recorded %s, in %s: %v", f.what, id, recorded, where, err)
				}
				s.Close()
			}
		}
	}
}

// TestSeveralBuilds: of several builds under one path that file is taken which a process still has
// mapped, or which has the recorded inode and one of the build ids.
func TestSeveralBuilds(t *testing.T) {
	path, off, id := program(t, waiting, "-DNUMBER=1")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	identity, ok := regular.Identify(info)
	if !ok {
		t.Fatalf("%s has no inode", path)
	}
	const other = "00112233445566778899aabbccddeeff00112233"
	builds := other + " " + id
	is := mapping.ID{Inode: identity.Inode}
	for _, test := range []struct {
		name string
		opts Options
		m    Mapping
		ok   bool
	}{
		{"the recorded inode", Options{}, Mapping{Builds: builds, ID: is}, true},
		{"below a root", Options{Root: "/", Foreign: true}, Mapping{Builds: builds, ID: is}, true},
		{"another inode", Options{}, Mapping{Builds: builds, ID: mapping.ID{Inode: is.Inode + 1}}, false},
		{"no inode", Options{}, Mapping{Builds: builds}, false},
		{"another machine", Options{Foreign: true}, Mapping{Builds: builds, ID: is}, false},
		{"the inode of something newer", Options{}, Mapping{Builds: other + " " + other[2:], ID: is}, false},
		{"by the recorder", Options{Retained: retained(path)}, Mapping{Builds: builds}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := New(test.opts)
			defer s.Close()
			m := test.m
			m.Kind, m.File, m.PID = mapping.User, path, nobody
			var several *SeveralBuildsError
			if got, err := names(t, s, m, off); (got[0] == "f") != test.ok || errors.As(err, &several) == test.ok {
				t.Errorf("%q, %v", got, err)
			}
			if test.opts.Retained != nil {
				return // code is looked for where it stays
			}
			if _, err := s.Code(m); (err == nil) != test.ok || errors.As(err, &several) == test.ok {
				t.Errorf("code: %v", err)
			}
		})
	}
}

// retained is a Retainer of one file.
type retained string

func (r retained) Retained(int, uint64, string) (string, error) { return string(r), nil }
func (retained) UserOf(int) (uint32, bool)                      { return 0, false }
func (retained) RootOf(int) (string, int, bool)                 { return "", 0, false }
