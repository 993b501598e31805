package convert

import (
	"fmt"
	"testing"

	"kprof/perfevent/abi"
	"kprof/symbolize"
	"kprof/symbolize/unwind"
)

// TestUnwindCopies walks copies of stacks by frame pointers, in code of which nothing
// else is known, and tells those that end early.
func TestUnwindCopies(t *testing.T) {
	const sp, bp, ip = 7, 6, 8
	attr := abi.Attr{
		Type: abi.TypeSoftware, SamplePeriod: 1, SampleRegsUser: 1<<bp | 1<<sp | 1<<ip,
		SampleType: abi.SampleIP | abi.SampleTID | abi.SampleTime | abi.SampleCallchain | abi.SampleRegsUser | abi.SampleStackUser,
		Flags:      abi.FlagSampleIDAll | abi.FlagExcludeCallchainUser,
	}
	o := abi.LittleEndian
	words := func(w ...uint64) (b []byte) {
		for _, v := range w {
			b = o.AppendUint64(b, v)
		}
		return b
	}
	const pid, base = 7, 0x7000
	task := uint64(pid)<<32 | pid
	// addr, time; a chain; ABI and registers; a stack of 48 bytes, and how much of it.
	sample := func(time uint64, misc abi.Misc, chain []uint64, regs []uint64, stack []byte) []byte {
		body := words(append([]uint64{0x1000, task, time, uint64(len(chain))}, chain...)...)
		body = append(body, words(regs...)...)
		if len(regs) > 1 {
			body = append(append(append(body, words(48)...), stack...), words(48)...)
		} else {
			body = append(body, words(0)...)
		}
		h := abi.Header{Type: abi.RecordSample, Misc: misc, Size: uint16(abi.HeaderSize + len(body))}
		return append(h.AppendTo(nil, o), body...)
	}
	whole := words(1, 2, base+0x20, 0x1101, 0, 0x1201)
	records := [][]byte{
		sample(1, abi.MiscUser, nil, []uint64{2, base + 0x10, base, 0x1000}, whole),
		sample(2, abi.MiscKernel, []uint64{abi.ContextKernel, 0xffffffff81000010}, []uint64{2, base + 0x10, base, 0x1000}, whole),
		sample(3, abi.MiscUser, nil, []uint64{2, base + 0x800, base, 0x1000}, whole), // the copy does not reach there
		sample(4, abi.MiscUser, nil, []uint64{1, base + 0x10, base, 0x1000}, whole),  // of 32 bits
		sample(5, abi.MiscUser, nil, []uint64{0}, nil),                               // a kernel thread has none
	}
	mmap := func() []byte {
		body := append(words(task, 0x1000, 0x1000, 0), "/x\x00\x00\x00\x00\x00\x00"...)
		body = append(body, words(task, 0)...) // its sample id
		return append(abi.Header{Type: abi.RecordMmap, Misc: abi.MiscUser, Size: uint16(abi.HeaderSize + len(body))}.AppendTo(nil, o), body...)
	}()
	unwindX := &Unwind{unwind.X86_64, func(m symbolize.Mapping) *unwind.Table {
		if m.Path != "/x" {
			t.Errorf("asked for %+v", m)
		}
		return unwind.FramePointers
	}}
	for _, c := range []struct {
		opts Options
		want string
	}{
		{Options{Unwind: unwindX}, `cycles :7/7: /x+0x0 < /x+0x100 < /x+0x200 = 1 1
cycles :7/7: /x+0x0 = 3 3
cycles :7/7: kernel? 0xffffffff81000010 < /x+0x0 < /x+0x100 < /x+0x200 = 1 1
unnamed: 5
unmapped frames: 1
cut 2 unwalked 0`},
		{Options{}, `cycles :7/7: /x+0x0 = 4 4
cycles :7/7: kernel? 0xffffffff81000010 = 1 1
unnamed: 5
unmapped frames: 1
cut 0 unwalked 4`},
	} {
		col := NewCollector(o, []abi.Event{{Attr: attr, Name: "cycles"}}, c.opts)
		for _, r := range append([][]byte{mmap}, records...) {
			if err := col.Write(r, nil); err != nil {
				t.Fatal(err)
			}
		}
		set, st, err := col.Finish()
		got := dump(set, st, err) + fmt.Sprintf("cut %d unwalked %d", st.CutStacks, st.UnwalkedStacks)
		if got != c.want {
			t.Errorf("got\n%s\nwant\n%s", got, c.want)
		}
	}
}
