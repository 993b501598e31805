//go:build linux

package event

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	"kprof/perfevent/livetest"
)

// TestFetchOf resolves names of a function
//
//	long f(int dfd, const char *filename, struct open_how *how)
//
// where open_how { u64 flags, mode; struct { u32 x; u16 y; }; struct inner *in; struct inner sub; }
func TestFetchOf(t *testing.T) {
	u16, u32, u64 := &btf.Int{Size: 2}, &btf.Int{Size: 4}, &btf.Int{Size: 8}
	char := &btf.Int{Size: 1, Encoding: btf.Char}
	inner := &btf.Struct{Name: "inner", Members: []btf.Member{{Name: "a", Type: u32}, {Name: "b", Type: u16, Offset: 32}}}
	how := &btf.Struct{Name: "open_how", Members: []btf.Member{
		{Name: "flags", Type: u64},
		{Name: "mode", Type: &btf.Typedef{Name: "mode_t", Type: u64}, Offset: 64},
		{Type: &btf.Struct{Members: []btf.Member{{Name: "x", Type: u32}, {Name: "y", Type: u16, Offset: 32}}}, Offset: 128},
		{Name: "in", Type: &btf.Pointer{Target: inner}, Offset: 192},
		{Name: "sub", Type: inner, Offset: 256},
	}}
	proto := &btf.FuncProto{Params: []btf.FuncParam{
		{Name: "dfd", Type: &btf.Int{Size: 4, Encoding: btf.Signed}},
		{Name: "filename", Type: &btf.Pointer{Target: &btf.Const{Type: char}}},
		{Name: "how", Type: &btf.Pointer{Target: how}},
	}}
	for arg, want := range map[string]string{
		"dfd":              "dfd=$arg1:s32",
		"dfd:x64":          "dfd=$arg1:x64",
		"n=dfd":            "n=$arg1:s32",
		"filename:ustring": "filename=+0($arg2):ustring",
		"filename":         "filename=$arg2:x64",
		"how->flags":       "flags=+0($arg3):u64",
		"m=how->mode:x16":  "m=+8($arg3):x16",
		"how->y":           "y=+20($arg3):u16",
		"how->in->b":       "b=+4(+24($arg3)):u16",
		"how->sub.b":       "b=+36($arg3):u16",
	} {
		label, body, ok := strings.Cut(arg, "=")
		if !ok {
			label, body = "", arg
		}
		got, err := fetchOf(proto, label, body)
		if err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", arg, got, err, want)
		}
	}
	livetest.Errors(t, func(arg string) (string, error) { return fetchOf(proto, "", arg) }, map[string]string{
		"fd":         `no "fd" (there are: dfd, filename, how)`,
		"how->nope":  `has no member "nope"`,
		"dfd->x":     `has no member "x"`,
		"how->sub":   "is not a number",
		"how->in->z": `has no member "z"`,
	})
	for _, p := range []Probe{{Symbol: "f", Off: 4, Args: "dfd"}, {Symbol: "f", Return: true, Args: "dfd"}, {User: true, Symbol: "f", Args: "dfd"}} {
		if _, err := new(Resolver).namedArguments(p); !errors.Is(err, os.ErrInvalid) {
			t.Errorf("%+v: %v", p, err)
		}
	}
	const kernels = `a=%di b=+0($arg2):ustring $retval \1 @jiffies c=$comm`
	if got, err := new(Resolver).namedArguments(Probe{Symbol: "f", Args: kernels}); got != kernels || err != nil {
		t.Errorf("%s became %s, %v", kernels, got, err)
	}
}
