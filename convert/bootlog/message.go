package bootlog

import (
	"bytes"
	"strconv"
	"time"

	"kprof/convert/kernellog"
	"kprof/perfevent/lazyregexp"
)

// The messages, of all kernels since 2.6.28; what stands before them is another
// program's, or of another line that went to the console at once.
var (
	// "calling  acpi_init+0x0/0x4f0 [acpi] @ 1", "calling  3_async_init+0x0/0x20 @ 55"; where
	// a log was copied from a page, one blank
	callingForm = lazyregexp.New(`calling +((?:\d+_)?)(\S+?)(?:\+0x[0-9a-f]+/0x[0-9a-f]+)?(?: \[([^\]\s]+)\])? @ +(\d+)$`)
	// "initcall acpi_init+0x0/0x4f0 [acpi] returned -19 after 12 usecs"
	returnedForm = lazyregexp.New(`initcall ((?:\d+_)?)(\S+?)(?:\+0x[0-9a-f]+/0x[0-9a-f]+)?(?: \[([^\]\s]+)\])? returned(?: (-?\d+))? after (-?\d+) usecs$`)
	// "probe of 0000:00:01.1 with driver ata_piix returned 0 after 123 usecs"
	probeForm = lazyregexp.New(`probe of (.+?)(?: with driver (\S+))? returned (-?\d+) after (-?\d+) usecs$`)
	// "pci 0000:00:01.0: calling  quirk_natoma+0x0/0x40 @ 1", "pci 0000:00:01.0: quirk_natoma+0x0/0x40 took 12 usecs"
	quirkForm     = lazyregexp.New(`(\S+ [0-9a-f]+:[0-9a-f:.]+): calling +(\S+?)(?:\+0x[0-9a-f]+/0x[0-9a-f]+)?(?: \[[^\]\s]+\])? @ +(\d+)$`)
	quirkTookForm = lazyregexp.New(`(\S+ [0-9a-f]+:[0-9a-f:.]+): (\S+?)(?:\+0x[0-9a-f]+/0x[0-9a-f]+)?(?: \[[^\]\s]+\])? took (-?\d+) usecs$`)
	levelForm     = lazyregexp.New(`entering initcall level: (\S+)$`)
	// "usb 1-1: PM: calling usb_dev_suspend+0x0/0x20 [usbcore] @ 2113, parent: usb1", and before
	// Linux 4.11 "calling  1-1+ @ 2113, parent: usb1"
	pmCallingForm    = lazyregexp.New(`^(.+?): (?:PM: )?calling (\S+?)(?:\+0x[0-9a-f]+/0x[0-9a-f]+)?(?: \[[^\]\s]+\])? @ (\d+), parent: \S+`)
	oldPMCallingForm = lazyregexp.New(`calling +(.+)\+ @ (\d+), parent: \S+`)
	// "usb 1-1: PM: usb_dev_suspend+0x0/0x20 [usbcore] returned 0 after 12 usecs", "call 1-1+ returned 0 after 12 usecs"
	pmReturnedForm    = lazyregexp.New(`^(.+?): (?:PM: )?(\S+?)(?:\+0x[0-9a-f]+/0x[0-9a-f]+)?(?: \[[^\]\s]+\])? returned (-?\d+) after (-?\d+) usecs$`)
	oldPMReturnedForm = lazyregexp.New(`call (.+)\+ returned (-?\d+) after (-?\d+) usecs$`)
	phaseForm         = lazyregexp.New(`PM: ((?:\w+ )?\w+) of devices (?:complete|aborted) after (\d+)\.(\d{3}) msecs$`)
	versionForm       = lazyregexp.New(`^Linux version \S.*`)
	commandForm       = lazyregexp.New(`^(?:Kernel c|C)ommand line: (.*)$`)
)

// take takes what a line says.
func (p *parser) take(l *kernellog.Line) {
	s := l.Text
	switch {
	case bytes.Contains(s, []byte("calling ")):
		p.takeCalling(l)
	case bytes.HasSuffix(s, []byte(" usecs")):
		p.takeReturned(l)
	case bytes.HasSuffix(s, []byte(" msecs")):
		if m := phaseForm().FindSubmatch(s); m != nil {
			ms, _ := strconv.ParseInt(string(m[2]), 10, 32)
			us, _ := strconv.ParseInt(string(m[3]), 10, 32)
			p.endPhase(string(m[1]), l, time.Duration(ms)*time.Millisecond+time.Duration(us)*time.Microsecond)
		}
	case bytes.Contains(s, []byte("entering initcall level: ")):
		if m := levelForm().FindSubmatch(s); m != nil {
			p.level = string(m[1])
		}
	case bytes.HasPrefix(s, []byte("Linux version ")):
		p.log.Kernel = string(versionForm().Find(s))
		p.log.Boots++
		// What was before is another boot's.
		p.level, p.open, p.loose, p.phase = "", p.open[:0], p.loose[:0], len(p.log.Calls)
	case bytes.Contains(s, []byte("ommand line: ")):
		if m := commandForm().FindSubmatch(s); m != nil {
			p.log.Command = string(m[1])
		}
	}
}

func (p *parser) takeCalling(l *kernellog.Line) {
	s := l.Text
	if m := quirkForm().FindSubmatch(s); m != nil {
		p.begin(Call{Kind: Quirk, Name: string(m[2]), Device: string(m[1]), PID: number32(m[3])}, l)
	} else if m := callingForm().FindSubmatch(s); m != nil {
		c := Call{Kind: Initcall, Name: string(m[2]), Module: string(m[3]), PID: number32(m[4])}
		if len(m[1]) > 0 {
			c.Kind, c.Name = Async, string(m[1])+c.Name
		}
		p.begin(c, l)
	} else if m := pmCallingForm().FindSubmatch(s); m != nil {
		p.begin(Call{Kind: PM, Name: string(m[2]), Device: string(m[1]), PID: number32(m[3])}, l)
	} else if m := oldPMCallingForm().FindSubmatch(s); m != nil {
		p.begin(Call{Kind: PM, Name: "pm", Device: string(m[1]), PID: number32(m[2])}, l)
	}
}

func (p *parser) takeReturned(l *kernellog.Line) {
	s := l.Text
	if m := returnedForm().FindSubmatch(s); m != nil {
		c := Call{Kind: Initcall, Name: string(m[2]), Module: string(m[3]), Return: int(number32(m[4]))}
		if len(m[1]) > 0 {
			c.Kind, c.Name = Async, string(m[1])+c.Name
		}
		p.end(c, l, usecs(m[5]))
	} else if m := probeForm().FindSubmatch(s); m != nil {
		c := Call{Kind: Probe, Name: string(m[1]), Driver: string(m[2]), Return: int(number32(m[3]))}
		if (c.Return == 0 || c.Return == 1) && p.log.boundIsOne() {
			c.Return = 1 - c.Return
		}
		p.end(c, l, usecs(m[4]))
	} else if m := quirkTookForm().FindSubmatch(s); m != nil {
		p.end(Call{Kind: Quirk, Name: string(m[2]), Device: string(m[1])}, l, usecs(m[3]))
	} else if m := oldPMReturnedForm().FindSubmatch(s); m != nil {
		p.end(Call{Kind: PM, Name: "pm", Device: string(m[1]), Return: int(number32(m[2]))}, l, usecs(m[3]))
	} else if m := pmReturnedForm().FindSubmatch(s); m != nil {
		p.end(Call{Kind: PM, Name: string(m[2]), Device: string(m[1]), Return: int(number32(m[3]))}, l, usecs(m[4]))
	}
}

// usecs is a time in microseconds; one that is negative, of a clock that jumped, is 0.
func usecs(s []byte) time.Duration {
	n, err := strconv.ParseInt(string(s), 10, 64)
	const longest = int64(1<<63-1) / int64(time.Microsecond) >> 8
	if err != nil || n < 0 {
		return 0
	}
	return time.Duration(min(n, longest)) * time.Microsecond
}

func number32(s []byte) int32 {
	n, err := strconv.ParseInt(string(s), 10, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}
