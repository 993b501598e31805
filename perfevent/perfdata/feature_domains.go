package perfdata

// SchedDomains are the sets of CPUs that the kernel's scheduler balances load
// in, as /proc/schedstat tells them (Linux 7.0 on; perf's header.c,
// write_cpu_domain_info).
type SchedDomains struct {
	Version uint32 // of /proc/schedstat
	Max     uint32 // of domains of one CPU
	CPUs    []CPUDomains
}

// CPUDomains are the domains of one CPU, the smallest first.
type CPUDomains struct {
	CPU     uint32
	Domains []SchedDomain
}

// SchedDomain is one of them. Name is "" before version namedDomains.
type SchedDomain struct {
	Domain    uint32
	Name      string
	Mask, Set string // its CPUs: a bitmap in hexadecimal, and a list of ranges
}

// namedDomains is the version of /proc/schedstat from which on domains have names.
const namedDomains = 17

func (c *cursor) schedDomains() SchedDomains {
	d := SchedDomains{Version: c.u32(), Max: c.u32()}
	const inFile, inMemory = 8, 64 // bytes of a CPU without domains, while the list grows
	for c.left() >= inFile && c.hold(inMemory) {
		d.CPUs = append(d.CPUs, CPUDomains{CPU: c.u32(), Domains: list(c, uint64(c.u32()), 12, func() SchedDomain {
			s := SchedDomain{Domain: c.u32()}
			if d.Version >= namedDomains {
				s.Name = c.string()
			}
			s.Mask, s.Set = c.string(), c.string()
			return s
		})})
	}
	return d
}

func (e *encoder) schedDomains(d *SchedDomains) {
	e.u32(d.Version)
	e.u32(d.Max)
	for _, cpu := range d.CPUs {
		e.u32(cpu.CPU)
		e.u32(uint32(len(cpu.Domains)))
		for _, s := range cpu.Domains {
			e.u32(s.Domain)
			if d.Version >= namedDomains {
				e.string(s.Name)
			}
			e.string(s.Mask)
			e.string(s.Set)
		}
	}
}

func (h *headerText) schedDomains() {
	d := &h.f.SchedDomains
	h.line("schedstat version\t: %d", d.Version)
	h.line("Maximum sched domains\t: %d", d.Max)
	for _, cpu := range d.CPUs {
		h.line("cpu\t\t: %d", cpu.CPU)
		h.line("nr_domains\t: %d", len(cpu.Domains))
		for _, s := range cpu.Domains {
			h.line("Domain\t\t: %d", s.Domain)
			if d.Version >= namedDomains {
				h.line("Domain name      : %s", s.Name)
			}
			h.line("Domain cpu map   : %s", s.Mask)
			h.line("Domain cpu list  : %s", s.Set)
		}
	}
}
