package symbolize

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"kprof/perfevent/livetest"
	"kprof/symbolize/mapping"
)

// TestGuest: the kernel of a virtual machine is named by its own symbols, from where it was
// loaded, and marked: never by those of the host.
func TestGuest(t *testing.T) {
	path, _, addrs := miniature(t, "-static", "-no-pie", "-Wl,-Ttext-segment=0x81000000")
	text := filepath.Join(t.TempDir(), "kallsyms")
	livetest.WriteFile(t, text, "81000000 T _text\n81000000 T _stext\n81000100 T vfs_open\n81000200 T vfs_close\n")
	const shift = 0x1e00000
	for _, x := range []struct {
		o    Options
		text uint64 // of the file
		addr uint64
		want string
	}{
		{Options{GuestVmlinux: path}, addrs["_text"], addrs["vfs_read"] + 6, "__se_sys_read_[g]"},
		{Options{GuestVmlinux: path, GuestKallsyms: text}, addrs["_text"], addrs["vfs_read"] + 6, "__se_sys_read_[g]"},
		{Options{GuestVmlinux: path, Inline: true}, addrs["_text"], addrs["vfs_read"] + 6, "fdget_[g]"},
		{Options{GuestKallsyms: text}, 0x81000000, 0x81000110, "vfs_open_[g]"},
	} {
		s := New(x.o)
		for _, moved := range []uint64{0, shift} {
			m := Mapping{Kind: mapping.Guest, File: "[guest.kernel.kallsyms]", Symbol: "_text", Offset: x.text + moved}
			frames, err := s.Resolve(context.Background(), m, []uint64{x.addr + moved})
			if err != nil || len(frames[0]) == 0 || frames[0][0].Name != x.want || frames[0][0].SystemName+GuestSuffix != x.want {
				t.Errorf("%+v, moved by %#x: %+v, %v; want %s", x.o, moved, frames, err, x.want)
			}
		}
		s.Close()
	}
	for _, x := range []struct {
		o    Options
		want error
	}{{Options{}, ErrGuest}, {Options{GuestKallsyms: "/none"}, fs.ErrNotExist}, {Options{GuestVmlinux: "/none"}, fs.ErrNotExist}} {
		s := New(x.o)
		frames, err := s.Resolve(context.Background(), Mapping{Kind: mapping.Guest, File: "[guest.kernel.kallsyms]"}, []uint64{0x81000110})
		if !errors.Is(err, x.want) || len(frames[0]) > 0 {
			t.Errorf("%+v: %v, %v; want %v", x.o, frames, err, x.want)
		}
		s.Close()
	}
}
