package event

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cilium/ebpf/btf"

	"kprof/perfevent/internal/errkind"
)

// namedArguments replaces the names of p's arguments, as in
//
//	dfd filename:ustring how->flags mode=how->mode:x32
//
// by what any kernel can fetch, from the types that the kernel describes in
// /sys/kernel/btf/vmlinux. Kernels since 6.6 know the names themselves, but not
// members of structures behind them in all places. What is written in the
// kernel's own language stays as it is.
func (r *Resolver) namedArguments(p Probe) (string, error) {
	words := strings.Fields(p.Args)
	var proto *btf.FuncProto
	for i, w := range words {
		label, body, labelled := strings.Cut(w, "=")
		if !labelled {
			label, body = "", w
		}
		if body == "" || !strings.Contains(letters+"_", body[:1]) {
			continue
		}
		if p.User || p.Symbol == "" || p.Off != 0 {
			return "", errkind.Errorf(os.ErrInvalid, "argument %q: names are known at the entry of a kernel function only", w)
		}
		if p.Return {
			return "", errkind.Errorf(os.ErrInvalid, "argument %q: a return probe has $retval, $stackN and $comm, and no arguments", w)
		}
		if proto == nil {
			var err error
			if proto, err = r.kernelProto(p); err != nil {
				return "", err
			}
		}
		fetch, err := fetchOf(proto, label, body)
		if err != nil {
			return "", fmt.Errorf("argument %q of %s: %w", w, p.Symbol, err)
		}
		words[i] = fetch
	}
	return strings.Join(words, " "), nil
}

// kernelProto is the type of the function that p stands in, of the kernel itself
// or of a module.
func (r *Resolver) kernelProto(p Probe) (*btf.FuncProto, error) {
	spec, err := r.kernelTypes(p.Module)
	if err != nil {
		return nil, err
	}
	var fn *btf.Func
	err = spec.TypeByName(p.Symbol, &fn)
	if errors.Is(err, btf.ErrNotFound) && p.Module == "" {
		if funcs, ferr := r.kernelFuncs(); ferr == nil {
			if found := funcs.named(p.Symbol, ""); len(found) == 1 && found[0].module != "" {
				p.Module = found[0].module
				return r.kernelProto(p)
			}
		}
	}
	if err != nil {
		if errors.Is(err, btf.ErrNotFound) {
			err = os.ErrNotExist
		}
		return nil, fmt.Errorf("the kernel does not describe the arguments of %s: write $arg1, $arg2: %w", p.Symbol, err)
	}
	proto, ok := fn.Type.(*btf.FuncProto)
	if !ok {
		return nil, errkind.Errorf(os.ErrInvalid, "the kernel describes %s as %v", p.Symbol, fn.Type)
	}
	return proto, nil
}

// kernelTypes are those of /sys/kernel/btf: of vmlinux, and of a module if it is
// given. To load them takes long, and is done once.
func (r *Resolver) kernelTypes(module string) (*btf.Spec, error) {
	if r.types == nil {
		r.types = btf.NewCache()
	}
	if module == "" {
		spec, err := r.types.Kernel()
		if err != nil {
			return nil, fmt.Errorf("types of the kernel (needs CONFIG_DEBUG_INFO_BTF): %w", err)
		}
		return spec, nil
	}
	spec, err := r.types.Module(module)
	if err != nil {
		return nil, fmt.Errorf("types of module %s (needs CONFIG_DEBUG_INFO_BTF_MODULES): %w", module, err)
	}
	return spec, nil
}

// fetchOf makes a fetch argument of NAME[->MEMBER|.MEMBER]…[:TYPE]. Without a
// label the last name becomes it; without a type it is that of the C type.
func fetchOf(proto *btf.FuncProto, label, body string) (string, error) {
	path, typ, typed := strings.Cut(body, ":")
	steps := strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '-' || r == '>' })
	if len(steps) == 0 {
		return "", errkind.Errorf(os.ErrInvalid, "no name")
	}
	fetch, at, err := parameter(proto, steps[0])
	if err != nil {
		return "", err
	}
	for _, step := range steps[1:] {
		if fetch, at, err = member(fetch, at, step); err != nil {
			return "", err
		}
	}
	if label == "" {
		label = steps[len(steps)-1]
	}
	if !typed {
		if typ, err = fetchType(at); err != nil {
			return "", err
		}
	}
	if _, pointer := btf.UnderlyingType(at).(*btf.Pointer); pointer && (typ == "string" || typ == "ustring") {
		fetch = "+0(" + fetch + ")"
	}
	return label + "=" + fetch + ":" + typ, nil
}

func parameter(proto *btf.FuncProto, name string) (string, btf.Type, error) {
	var names []string
	for i, p := range proto.Params {
		if p.Name == name {
			return fmt.Sprintf("$arg%d", i+1), p.Type, nil
		}
		names = append(names, p.Name)
	}
	return "", nil, errkind.Errorf(os.ErrNotExist, "no %q (there are: %s)", name, strings.Join(names, ", "))
}

// member follows a pointer to a structure, or goes into one that was fetched as
// "+OFF(BASE)".
func member(fetch string, at btf.Type, name string) (string, btf.Type, error) {
	if ptr, ok := btf.UnderlyingType(at).(*btf.Pointer); ok {
		fetch, at = "+0("+fetch+")", ptr.Target
	}
	off, typ, ok := findMember(btf.UnderlyingType(at), name)
	if !ok {
		return "", nil, errkind.Errorf(os.ErrNotExist, "%v has no member %q", at, name)
	}
	var base uint32
	var inner string
	if n, err := fmt.Sscanf(fetch, "+%d(%s", &base, &inner); n != 2 || err != nil {
		return "", nil, errkind.Errorf(os.ErrInvalid, "member %q of what is no structure in memory", name)
	}
	return fmt.Sprintf("+%d(%s", base+off, inner), typ, nil
}

// findMember looks a member up, in unnamed structures and unions inside too.
func findMember(at btf.Type, name string) (off uint32, typ btf.Type, ok bool) {
	var members []btf.Member
	switch t := at.(type) {
	case *btf.Struct:
		members = t.Members
	case *btf.Union:
		members = t.Members
	}
	for _, m := range members {
		if m.Name == name && m.BitfieldSize == 0 {
			return m.Offset.Bytes(), m.Type, true
		}
		if m.Name == "" {
			if off, typ, ok := findMember(btf.UnderlyingType(m.Type), name); ok {
				return m.Offset.Bytes() + off, typ, true
			}
		}
	}
	return 0, nil, false
}

// fetchType is the kernel's name of a scalar type.
func fetchType(t btf.Type) (string, error) {
	switch t := btf.UnderlyingType(t).(type) {
	case *btf.Int:
		if size := t.Size; size == 1 || size == 2 || size == 4 || size == 8 {
			sign := "u"
			if t.Encoding == btf.Signed {
				sign = "s"
			}
			return fmt.Sprintf("%s%d", sign, 8*size), nil
		}
	case *btf.Enum:
		return fmt.Sprintf("u%d", 8*t.Size), nil
	case *btf.Pointer:
		return "x64", nil
	}
	return "", errkind.Errorf(os.ErrInvalid, "%v is not a number: name a member of it", t)
}
