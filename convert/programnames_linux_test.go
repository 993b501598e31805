package convert_test

import (
	"bytes"
	"debug/elf"
	"encoding/hex"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"kprof/convert"
	"kprof/symbolize"
)

// ownCode is where the program that runs has a function: its mapping, as a process would have it at
// another place, and an address in it.
func ownCode(t *testing.T, function any) (m profile.Mapping, addr uint64, name string) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pc := uint64(reflect.ValueOf(function).Pointer())
	const moved, page = 1 << 20, 1<<12 - 1
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && p.Vaddr <= pc && pc < p.Vaddr+p.Filesz {
			m = profile.Mapping{ID: 1, File: path, Start: p.Vaddr&^page + moved, Limit: p.Vaddr + p.Filesz + moved, Offset: p.Off &^ page}
		}
	}
	if m.Limit == 0 {
		t.Skip("this program is position-independent")
	}
	if s := f.Section(".note.gnu.build-id"); s != nil {
		const head = 16 // lengths, kind and "GNU" (elf(5), Nhdr)
		if note, err := s.Data(); err == nil && len(note) > head {
			m.BuildID = hex.EncodeToString(note[head:])
		}
	}
	if m.BuildID == "" { // since Go 1.24
		t.Fatal("the linker gave this program no build id")
	}
	return m, pc + moved, runtime.FuncForPC(uintptr(pc)).Name()
}

// TestProgramNames: profiles of tools that leave names to those who read them, as pprof does, have the names
// that the program has, if it is known to be that one.
func TestProgramNames(t *testing.T) {
	mapping, addr, name := ownCode(t, TestProgramNames)
	all := symbolize.Options{Root: "/"}
	for _, test := range []struct {
		what    string
		change  func(*profile.Mapping)
		at      uint64
		o       convert.Options
		want    string
		warning string
	}{
		{"by its build id", func(m *profile.Mapping) {}, addr, convert.Options{}, name, ""},
		{"not asked for", func(m *profile.Mapping) {}, addr, convert.Options{Unnamed: true}, "", ""},
		{"another build", func(m *profile.Mapping) { m.BuildID = strings.Repeat("ab", 20) }, addr, convert.Options{}, "", "recorded on a machine that it does not name"},
		{"without a build id", func(m *profile.Mapping) { m.BuildID = "" }, addr, convert.Options{}, "", "without a build id"},
		{"by its place", func(m *profile.Mapping) { m.BuildID = "" }, addr, convert.Options{Symbols: all}, name, ""},
		{"named by its tool", func(m *profile.Mapping) { m.HasFunctions = true }, addr, convert.Options{}, "", ""},
		{"named by its tool elsewhere", func(m *profile.Mapping) { m.HasFunctions = true }, addr, convert.Options{Symbols: all}, name, ""},
		{"an address of the file, not of a process", func(m *profile.Mapping) { m.Start, m.Limit = 0, 0 }, addr, convert.Options{Symbols: all}, "", ""},
		{"an address outside", func(m *profile.Mapping) { m.Limit = addr }, addr, convert.Options{Symbols: all}, "", ""},
	} {
		t.Run(test.what, func(t *testing.T) {
			m := mapping
			test.change(&m)
			loc := &profile.Location{ID: 1, Mapping: &m, Address: test.at}
			said := "50.0% of samples have frames without a name in " + m.File + ": it is elsewhere"
			p := &profile.Profile{
				Comments:   []string{"host: h", said},
				SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}}, Mapping: []*profile.Mapping{&m},
				Location: []*profile.Location{loc}, Sample: []*profile.Sample{{Location: []*profile.Location{loc}, Value: []int64{7}}},
			}
			var b bytes.Buffer
			if err := p.Write(&b); err != nil {
				t.Fatal(err)
			}
			got, err := convert.Read(t.Context(), &b, test.o)
			if err != nil {
				t.Fatal(err)
			}
			want := test.want
			if want == "" {
				want = "[" + filepath.Base(m.File) + "]"
			}
			if text := foldedOf(t, got); text != want+" 7\n" {
				t.Errorf("%q, want %q", text, want)
			}
			if asked := test.want != "" || test.warning != ""; slices.Contains(got.Set.Comments, said) == asked || !slices.Contains(got.Set.Comments, "host: h") {
				t.Errorf("%q", got.Set.Comments)
			}
			warnings := ""
			for i := range got.Warnings {
				warnings += got.Warnings[i].String()
			}
			if test.warning == "" && warnings != "" || !strings.Contains(warnings, test.warning) {
				t.Errorf("%q, want %q", warnings, test.warning)
			}
		})
	}
}
