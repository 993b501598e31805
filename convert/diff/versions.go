package diff

import (
	"bytes"
	"strings"
)

// withoutVersions removes what a name has of the version of a library or compiler:
//
//   - the tag of a version of libc++, [abi:ne180100] (_LIBCPP_HIDE_FROM_ABI in libcxx/include/__config: some
//     letters and _LIBCPP_VERSION); others, such as [abi:cxx11], tell functions apart;
//   - the hash of a Rust crate, core[846817f741e54dfd]::ptr, as binutils and rustc-demangle write it, and
//     within a name that is not demangled (RFC 2603: C s <base-62-number> _ <identifier>);
//   - the hash of the old mangling in a name that is not demangled, _ZN…17h0123456789abcdefE.
func withoutVersions(name string) string {
	name = withoutTags(name)
	mangled := name
	for _, p := range namePrefixes {
		mangled = strings.TrimPrefix(mangled, p)
	}
	switch {
	case strings.HasPrefix(mangled, "_R"):
		return withoutDisambiguators(name)
	case strings.HasPrefix(mangled, "_ZN"):
		const length = len("17h0123456789abcdefE")
		if i := strings.LastIndex(name, "17h"); i > 0 && len(name) >= i+length && isHash(name[i+3:i+length-1]) &&
			name[i+length-1] == 'E' && (len(name) == i+length || name[i+length] == '.' || name[i+length] == ' ') {
			return name[:i] + name[i+length-1:]
		}
	}
	return name
}

// mostTag is how long what withoutTags removes is at most, without its last bracket.
const mostTag = len("[abi:ne180100") + 8

// withoutTags removes tags of versions, and hashes of crates, which stand before what is in the crate.
func withoutTags(name string) string {
	if !strings.Contains(name, "[abi:") && !strings.Contains(name, "]::") {
		return name
	}
	left := make([]byte, 0, len(name))
	for i := range len(name) {
		if name[i] == ']' {
			from := max(len(left)-mostTag, 0)
			if open := bytes.LastIndexByte(left[from:], '[') + from; open > 0 && left[open] == '[' {
				inside := string(left[open+1:])
				tag, isTag := strings.CutPrefix(inside, "abi:")
				if isTag && isLibraryVersion(tag) || isCrateHash(inside) && strings.HasPrefix(name[i+1:], "::") {
					left = left[:open]
					continue
				}
			}
		}
		left = append(left, name[i])
	}
	return string(left)
}

// isLibraryVersion tells the tag of a version of libc++.
func isLibraryVersion(tag string) bool {
	digits := strings.TrimLeft(tag, "abcdefghijklmnopqrstuvwxyz")
	return len(digits) < len(tag) && len(digits) >= 5 && strings.Trim(digits, "0123456789") == ""
}

// isCrateHash tells 64 bits in hexadecimal, of which the first digits may be 0 and are not there then.
func isCrateHash(s string) bool {
	return len(s) >= 10 && len(s) <= 16 && strings.Trim(s, "0123456789abcdef") == ""
}

// withoutDisambiguators removes those of crates from a name of Rust's mangling v0.
func withoutDisambiguators(name string) string {
	var b strings.Builder
	for {
		i := strings.Index(name, "Cs")
		if i < 0 {
			return b.String() + name
		}
		number, rest, ok := strings.Cut(name[i+2:], "_")
		if ok && len(number) >= 7 && len(number) <= 11 && isBase62(number) && rest != "" && rest[0] >= '1' && rest[0] <= '9' {
			b.WriteString(name[:i+1])
			name = rest
		} else {
			b.WriteString(name[:i+2])
			name = name[i+2:]
		}
	}
}

func isBase62(s string) bool {
	return strings.IndexFunc(s, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	}) < 0
}
