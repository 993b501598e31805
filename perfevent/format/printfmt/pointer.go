package printfmt

import (
	"net/netip"
	"strconv"

	"kprof/perfevent/abi"
	"kprof/perfevent/format"
)

// pointer appends a %p with its extension (lib/vsprintf.c, "pointer"). Whether the
// width is still to be applied is the second result: for bitmaps and buffers it is
// their size.
func (p *Printer) pointer(dst []byte, d *piece, width int, raw []byte) ([]byte, bool) {
	ext := byte(0)
	if d.ext != "" {
		ext = d.ext[0]
	}
	if d.arg.isData() {
		b, ok := p.bytes(d.arg, raw)
		if !ok {
			return append(dst, '?'), true
		}
		switch ext {
		case 'h':
			return p.buffer(dst, d.ext, b, width), false
		case 'b':
			return p.bitmap(dst, d.ext, b, width), false
		case 'M', 'm':
			return mac(dst, d.ext, b), true
		case 'I', 'i':
			return p.address(dst, d.ext, b), true
		case 'U':
			return uuid(dst, d.ext, b), true
		case 'a':
			v, ok := p.element(b, 0, ctype{uint8(p.format.LongSize), true}, true)
			if !ok {
				return append(dst, '?'), true
			}
			return pad(append(dst, "0x"...), 0, strconv.AppendUint, v, 2*p.format.LongSize), true
		case 0, 'K', 'x':
		default:
			if d.arg.op == opData && d.arg.field.Text() {
				return p.text(dst, d.arg, raw), true
			}
		}
		// Its address in the kernel's buffer, which says nothing: the bytes.
		for _, c := range b[:min(len(b), 64)] {
			dst = appendHexByte(dst, c)
		}
		return dst, true
	}
	v, ok := p.num(d.arg, raw)
	if !ok {
		return append(dst, '?'), true
	}
	switch ext {
	case 'S', 's', 'F', 'f', 'B':
		return p.appendSymbol(dst, v, ext != 's' && ext != 'f'), true
	case 'e':
		if n := -int64(v); n > 0 && n < 4096 {
			return append(append(dst, '-'), format.ErrnoName(int(n))...), true
		}
	}
	padded := ext != 'b' && ext != 'h'
	if v == 0 {
		return append(dst, "(nil)"...), padded
	}
	return appendHex(append(dst, "0x"...), v), padded
}

// appendSymbol names an address, with its offset in the function when it is wanted.
func (p *Printer) appendSymbol(dst []byte, addr uint64, offset bool) []byte {
	if p.options.Symbol != nil {
		if name, off, ok := p.options.Symbol(addr); ok {
			dst = append(dst, name...)
			if offset {
				dst = strconv.AppendUint(append(dst, "+0x"...), off, 16)
			}
			return dst
		}
	}
	return appendHex(append(dst, "0x"...), addr)
}

// buffer is %*ph: bytes in hexadecimal, at most 64.
func (p *Printer) buffer(dst []byte, ext string, b []byte, width int) []byte {
	sep := " "
	if len(ext) > 1 {
		switch ext[1] {
		case 'C':
			sep = ":"
		case 'D':
			sep = "-"
		case 'N':
			sep = ""
		}
	}
	n := 1
	if width >= 0 { // 0 is of none (lib/vsprintf.c, hex_string)
		n = min(width, 64)
	}
	for i, c := range b[:min(n, len(b))] {
		if i > 0 {
			dst = append(dst, sep...)
		}
		dst = appendHexByte(dst, c)
	}
	return dst
}

// bitmap is %*pb and %*pbl: a bitmap of longs of so many bits.
func (p *Printer) bitmap(dst []byte, ext string, b []byte, bits int) []byte {
	bits = min(max(bits, 0), len(b)*8)
	if len(ext) < 2 || ext[1] != 'l' {
		return format.AppendBitmask(dst, b, bits, p.format.LongSize, p.format.Order)
	}
	return format.AppendBitList(dst, b, bits, p.format.LongSize, p.format.Order)
}

// mac is %pM: six bytes with colons; %pMR backwards, %pMF with hyphens, %pm with nothing.
func mac(dst []byte, ext string, b []byte) []byte {
	if len(b) < 6 {
		return append(dst, '?')
	}
	sep, reverse := ":", false
	if ext[0] == 'm' {
		sep = ""
	}
	for _, c := range ext[1:] {
		switch c {
		case 'F':
			sep = "-"
		case 'R':
			reverse = true
		}
	}
	for i := range 6 {
		if i > 0 {
			dst = append(dst, sep...)
		}
		c := b[i]
		if reverse {
			c = b[5-i]
		}
		dst = appendHexByte(dst, c)
	}
	return dst
}

// address is %pI4, %pi4, %pI6, %pI6c, %pi6 and %pIS of a socket address.
func (p *Printer) address(dst []byte, ext string, b []byte) []byte {
	if len(ext) < 2 {
		return append(dst, '?')
	}
	plain := ext[0] == 'i'
	compact := false
	for _, c := range ext[2:] {
		compact = compact || c == 'c'
	}
	switch ext[1] {
	case '4':
		reverse := false
		if len(ext) > 2 { // host's order, or little-endian
			reverse = ext[2] == 'l' || ext[2] == 'h' && p.format.Order == abi.LittleEndian
		}
		return ipv4(dst, b, plain, reverse)
	case '6':
		return ipv6(dst, b, plain, compact)
	case 'S':
		return p.sockaddr(dst, ext, b, compact)
	}
	return append(dst, '?')
}

func ipv4(dst, b []byte, plain, reverse bool) []byte {
	if len(b) < 4 {
		return append(dst, '?')
	}
	for i := range 4 {
		c := b[i]
		if reverse {
			c = b[3-i]
		}
		if i > 0 {
			dst = append(dst, '.')
		}
		if plain { // leading zeros
			dst = append(dst, '0'+c/100, '0'+c/10%10, '0'+c%10)
			continue
		}
		dst = strconv.AppendUint(dst, uint64(c), 10)
	}
	return dst
}

func ipv6(dst, b []byte, plain, compact bool) []byte {
	if len(b) < 16 {
		return append(dst, '?')
	}
	if compact && !plain {
		// RFC 5952, and IPv4 in dotted form where it is mapped or of ISATAP.
		a := netip.AddrFrom16([16]byte(b))
		return a.AppendTo(dst)
	}
	for i := range 16 {
		if i > 0 && i%2 == 0 && !plain {
			dst = append(dst, ':')
		}
		dst = appendHexByte(dst, b[i])
	}
	return dst
}

// sockaddr is %pIS: by the family, with the port when the extension has a p.
func (p *Printer) sockaddr(dst []byte, ext string, b []byte, compact bool) []byte {
	if len(b) < 8 {
		return append(dst, '?')
	}
	port := false
	for _, c := range ext[2:] {
		port = port || c == 'p'
	}
	switch p.format.Order.Uint16(b) {
	case 2: // AF_INET
		dst = ipv4(dst, b[4:], ext[0] == 'i', false)
	case 10: // AF_INET6
		if len(b) < 24 {
			return append(dst, '?')
		}
		if port {
			dst = append(dst, '[')
		}
		dst = ipv6(dst, b[8:], ext[0] == 'i', compact)
		if port {
			dst = append(dst, ']')
		}
	default:
		return append(dst, "(einval)"...) // "(invalid address)" before Linux 5.2
	}
	if port {
		dst = strconv.AppendUint(append(dst, ':'), uint64(b[2])<<8|uint64(b[3]), 10)
	}
	return dst
}

// uuid is %pU and %pUb in big-endian order, %pUl in that of Windows, %pUB and %pUL
// the same in capitals.
func uuid(dst []byte, ext string, b []byte) []byte {
	if len(b) < 16 {
		return append(dst, '?')
	}
	order := [16]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	upper := false
	if len(ext) > 1 {
		if ext[1] == 'l' || ext[1] == 'L' {
			order = [16]int{3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15}
		}
		upper = ext[1] == 'B' || ext[1] == 'L'
	}
	from := len(dst)
	for i, at := range order {
		switch i {
		case 4, 6, 8, 10:
			dst = append(dst, '-')
		}
		dst = appendHexByte(dst, b[at])
	}
	if upper {
		for i, c := range dst[from:] {
			if c >= 'a' {
				dst[from+i] = c - 'a' + 'A'
			}
		}
	}
	return dst
}
