package srcline

// form says how an attribute is written: DW_FORM_* of DWARF 5, section 7.5.6,
// and GNU's extensions.
type form uint16

const (
	formAddr          form = 0x01
	formBlock2        form = 0x03
	formBlock4        form = 0x04
	formData2         form = 0x05
	formData4         form = 0x06
	formData8         form = 0x07
	formString        form = 0x08
	formBlock         form = 0x09
	formBlock1        form = 0x0a
	formData1         form = 0x0b
	formFlag          form = 0x0c
	formSdata         form = 0x0d
	formStrp          form = 0x0e
	formUdata         form = 0x0f
	formRefAddr       form = 0x10
	formRef1          form = 0x11
	formRef2          form = 0x12
	formRef4          form = 0x13
	formRef8          form = 0x14
	formRefUdata      form = 0x15
	formIndirect      form = 0x16
	formSecOffset     form = 0x17
	formExprloc       form = 0x18
	formFlagPresent   form = 0x19
	formStrx          form = 0x1a
	formAddrx         form = 0x1b
	formRefSup4       form = 0x1c
	formStrpSup       form = 0x1d
	formData16        form = 0x1e
	formLineStrp      form = 0x1f
	formRefSig8       form = 0x20
	formImplicitConst form = 0x21
	formLoclistx      form = 0x22
	formRnglistx      form = 0x23
	formRefSup8       form = 0x24
	formStrx1         form = 0x25
	formStrx2         form = 0x26
	formStrx3         form = 0x27
	formStrx4         form = 0x28
	formAddrx1        form = 0x29
	formAddrx2        form = 0x2a
	formAddrx3        form = 0x2b
	formAddrx4        form = 0x2c
	formGNUAddrIndex  form = 0x1f01
	formGNUStrIndex   form = 0x1f02
	formGNURefAlt     form = 0x1f20
	formGNUStrpAlt    form = 0x1f21
)

// formSize returns how many bytes an attribute takes in unit u, -1 if that
// depends on its value.
func (u *unit) formSize(f form) int {
	switch f {
	case formFlagPresent, formImplicitConst:
		return 0
	case formData1, formRef1, formFlag, formStrx1, formAddrx1:
		return 1
	case formData2, formRef2, formStrx2, formAddrx2:
		return 2
	case formStrx3, formAddrx3:
		return 3
	case formData4, formRef4, formRefSup4, formStrx4, formAddrx4:
		return 4
	case formData8, formRef8, formRefSig8, formRefSup8:
		return 8
	case formData16:
		return 16
	case formAddr:
		return int(u.addrSize)
	case formStrp, formSecOffset, formStrpSup, formLineStrp, formGNURefAlt, formGNUStrpAlt:
		return int(u.offSize)
	case formRefAddr:
		if u.version == 2 {
			return int(u.addrSize)
		}
		return int(u.offSize)
	}
	return -1
}

// value is an attribute's value: a number, or where its bytes are.
type value struct {
	form form // 0 if the attribute is absent
	u    uint64
}

func (v value) ok() bool { return v.form != 0 }

// read reads an attribute at c, a cursor over .debug_info or, for tables of
// files, over .debug_line. A string's value is its offset there.
func (u *unit) read(c *cursor, a attr) value {
	f := a.form
	if f == formIndirect {
		f = form(c.uleb())
		if f == formIndirect || f == formImplicitConst {
			c.fail()
		}
	}
	v := value{form: f}
	switch f {
	case formImplicitConst:
		v.u = uint64(a.value)
	case formFlagPresent:
		v.u = 1
	case formUdata, formRefUdata, formStrx, formAddrx, formRnglistx, formLoclistx, formGNUAddrIndex, formGNUStrIndex:
		v.u = c.uleb()
	case formSdata:
		v.u = uint64(c.sleb())
	case formString:
		v.u = uint64(c.off)
		c.skipString()
	case formData16:
		c.skip(16)
	case formBlock1:
		c.skip(uint64(c.u8()))
	case formBlock2:
		c.skip(uint64(c.u16()))
	case formBlock4:
		c.skip(uint64(c.u32()))
	case formBlock, formExprloc:
		c.skip(c.uleb())
	default:
		n := u.formSize(f)
		if n < 0 {
			c.fail() // nobody knows how long it is
			return value{}
		}
		v.u = c.uint(n)
	}
	return v
}

// skip passes over the attributes of an entry.
func (u *unit) skip(c *cursor, a *abbrev) {
	if a.fixed >= 0 {
		c.skip(uint64(a.fixed))
		return
	}
	for _, at := range a.attrs {
		switch at.form {
		case formUdata, formSdata, formRefUdata:
			c.skipLEB()
		case formExprloc:
			c.skip(c.uleb())
		default:
			if n := u.formSize(at.form); n >= 0 {
				c.skip(uint64(n))
			} else {
				u.read(c, at)
			}
		}
	}
}
