package record

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"

	"kprof/perfevent/abi"
	"kprof/perfevent/livetest"
)

// TestLiveKernelCode: of a task that has nothing to do with it, that a BPF program was loaded and
// unloaded is recorded too, where that is wanted.
func TestLiveKernelCode(t *testing.T) {
	livetest.Require(t, livetest.Root, livetest.Program("sleep"))
	livetest.ChangeMachine(t) // a program of BPF is what perf 6.1 cannot read beside another recorder: see abi.Layout.Excess
	if jit, err := os.ReadFile("/proc/sys/net/core/bpf_jit_enable"); err != nil || bytes.Equal(jit, []byte("0\n")) {
		t.Skip("needs BPF programs to be compiled (net.core.bpf_jit_enable)")
	}
	sleep := exec.Command("sleep", "600")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sleep.Process.Kill(); _ = sleep.Wait() }()
	const name = "kprof_followed"
	for _, wanted := range []bool{true, false} {
		told := 0
		s := open(t, Options{
			Specs: specs(t, "page-faults"), Target: Target{PIDs: []int{sleep.Process.Pid}}, KernelCode: wanted,
			Sideband: func(rec []byte) {
				if abi.DecodeHeader(rec, abi.LittleEndian).Type == abi.RecordKsymbol && bytes.Contains(rec, []byte(name)) {
					told++
				}
			},
		})
		if s.FollowsKernel() != wanted {
			t.Errorf("wanted %v: it follows %v", wanted, s.FollowsKernel())
		}
		runWhile(t, s, newSink(t), func() {
			prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: name, Type: ebpf.SocketFilter, License: "MIT", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()}})
			if err != nil {
				t.Error(err)
				return
			}
			prog.Close()
		})
		if want := map[bool]int{true: 2}[wanted]; told != want {
			t.Errorf("wanted %v: %d records tell of it, want %d", wanted, told, want)
		}
	}
}
