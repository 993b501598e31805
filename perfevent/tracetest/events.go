package tracetest

// Formats of events, of a kernel of 64 bits.
const (
	common = `format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

`
	KernelStack = "name: kernel_stack\nID: 4\n" + common + `	field:int size;	offset:8;	size:4;	signed:1;
	field:unsigned long caller[8];	offset:16;	size:64;	signed:0;

print fmt: "\t=> %ps\n", (void *)REC->caller[0]
`
	UserStack = "name: user_stack\nID: 13\n" + common + `	field:unsigned int tgid;	offset:8;	size:4;	signed:0;
	field:unsigned long caller[8];	offset:16;	size:64;	signed:0;

print fmt: "\t=> %ps\n", (void *)REC->caller[0]
`
	Function = "name: function\nID: 1\n" + common + `	field:unsigned long ip;	offset:8;	size:8;	signed:0;
	field:unsigned long parent_ip;	offset:16;	size:8;	signed:0;

print fmt: " %ps <-- %ps", (void *)REC->ip, (void *)REC->parent_ip
`
	BPrint = "name: bprint\nID: 6\n" + common + `	field:unsigned long ip;	offset:8;	size:8;	signed:0;
	field:const char * fmt;	offset:16;	size:8;	signed:0;
	field:u32 buf[];	offset:24;	size:0;	signed:0;

print fmt: "%ps: %s", (void *)REC->ip, REC->fmt
`
	// Tick is an event with a number: system test, number 500.
	Tick = "name: tick\nID: 500\n" + common + `	field:int count;	offset:8;	size:4;	signed:1;

print fmt: "count=%d", REC->count
`
)

// Common is the common fields of an event.
func (m Machine) Common(id, pid int) []byte {
	word := m.Order.AppendUint32(nil, uint32(id))
	if m.Order != 0 {
		word = m.Order.AppendUint32(nil, uint32(id)<<16)
	}
	return m.Order.AppendUint32(word, uint32(pid))
}

// Tick is a test:tick.
func (m Machine) Tick(pid, count int) []byte {
	return m.Order.AppendUint32(m.Common(500, pid), uint32(count))
}

// Stack is a kernel_stack or a user_stack, by its number, with what is before the callers:
// their number, or the process.
func (m Machine) Stack(id, pid, head int, callers ...uint64) []byte {
	b := m.Order.AppendUint32(m.Order.AppendUint32(m.Common(id, pid), uint32(head)), 0)
	for _, c := range callers {
		b = m.Order.AppendUint64(b, c)
	}
	return b
}
