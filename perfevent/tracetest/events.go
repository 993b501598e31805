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

// Switch is sched:sched_switch, number 310.
const Switch = "name: sched_switch\nID: 310\n" + common + `	field:char prev_comm[16];	offset:8;	size:16;	signed:1;
	field:pid_t prev_pid;	offset:24;	size:4;	signed:1;
	field:int prev_prio;	offset:28;	size:4;	signed:1;
	field:long prev_state;	offset:32;	size:8;	signed:1;
	field:char next_comm[16];	offset:40;	size:16;	signed:1;
	field:pid_t next_pid;	offset:56;	size:4;	signed:1;
	field:int next_prio;	offset:60;	size:4;	signed:1;

print fmt: "prev_comm=%s prev_pid=%d prev_state=%s ==> next_comm=%s next_pid=%d", REC->prev_comm, REC->prev_pid, __print_symbolic(REC->prev_state, {0, "R"}, {1, "S"}, {2, "D"}), REC->next_comm, REC->next_pid
`

// Switch is a sched:sched_switch away from prev, in a state, to next.
func (m Machine) Switch(prev, state, next int) []byte {
	name := func(b []byte, pid int) []byte {
		s := "task" + itoa(pid)
		if pid == 0 {
			s = "swapper"
		}
		return append(append(b, s...), make([]byte, 16-len(s))...)
	}
	b := name(m.Common(310, prev), prev)
	b = m.Order.AppendUint32(m.Order.AppendUint32(b, uint32(prev)), 120)
	b = name(m.Order.AppendUint64(b, uint64(state)), next)
	return m.Order.AppendUint32(m.Order.AppendUint32(b, uint32(next)), 120)
}

// Switches is a trace.dat of one CPU, on which the tasks 7 and 8 sleep once, for 2 and 3 ms,
// in functions of the kernel that have names.
func Switches(version int) []byte {
	m := Machine{Long: 8, Page: 4096}
	sleep := func(caller uint64) []byte {
		return m.Event(0, m.Stack(4, 7, 3, 0xffffffff81000110, caller, 0xffffffff81000310))
	}
	other := func(caller uint64) []byte {
		return m.Event(0, m.Stack(4, 8, 3, 0xffffffff81000110, caller, 0xffffffff81000310))
	}
	idle := m.Event(0, m.Stack(4, 0, 1, 0xffffffff81000110))
	return (&Dat{
		Machine: m, Version: version,
		Ftrace: []string{KernelStack}, Systems: []System{{Name: "sched", Formats: []string{Switch}}},
		Kallsyms: "ffffffff81000000 T _text\nffffffff81000000 T _stext\nffffffff81000100 T schedule\nffffffff81000200 T do_nanosleep\n" +
			"ffffffff81000280 T do_wait\nffffffff81000300 T do_syscall_64\nffffffff81001000 T _etext\n",
		Cmdlines: "7 task7\n8 task8\n",
		Buffers: []Instance{{Clock: "local", CPUs: [][][]byte{{m.Sub(1e9, 0,
			m.Event(0, m.Switch(7, 1, 8)), sleep(0xffffffff81000210),
			m.Event(1e6, m.Switch(8, 2, 0)), other(0xffffffff81000290),
			m.Event(1e6, m.Switch(0, 0, 7)), idle,
			m.Event(2e6, m.Switch(7, 0, 8)), sleep(0xffffffff81000210),
		)}}}},
	}).Bytes()
}

// Begins and ends of functions, of function_graph: numbers 11 and 10. GraphExitUntimed has
// no times, but what the function returned.
const (
	GraphEntry = "name: funcgraph_entry\nID: 11\n" + common + `	field:unsigned long func;	offset:8;	size:8;	signed:0;
	field:int depth;	offset:16;	size:4;	signed:1;

print fmt: "--> %ps (%d)", (void *)REC->func, REC->depth
`
	GraphExit = "name: funcgraph_exit\nID: 10\n" + common + `	field:unsigned long func;	offset:8;	size:8;	signed:0;
	field:int depth;	offset:16;	size:4;	signed:1;
	field:unsigned int overrun;	offset:20;	size:4;	signed:0;
	field:unsigned long long calltime;	offset:24;	size:8;	signed:0;
	field:unsigned long long rettime;	offset:32;	size:8;	signed:0;

print fmt: "<-- %ps (%d) (start: %llx  end: %llx) over: %d", (void *)REC->func, REC->depth, REC->calltime, REC->rettime, REC->depth
`
	GraphExitUntimed = "name: funcgraph_exit\nID: 10\n" + common + `	field:unsigned long func;	offset:8;	size:8;	signed:0;
	field:unsigned long retval;	offset:16;	size:8;	signed:0;
	field:unsigned int depth;	offset:24;	size:4;	signed:0;

print fmt: "<-- %ps (%u) ret: %lx", (void *)REC->func, REC->depth, REC->retval
`
)

// Enter is a GraphEntry.
func (m Machine) Enter(pid int, fn uint64, depth int) []byte {
	b := m.Order.AppendUint64(m.Common(11, pid), fn)
	return m.Order.AppendUint32(m.Order.AppendUint32(b, uint32(depth)), 0)
}

// Leave is a GraphExit.
func (m Machine) Leave(pid int, fn uint64, depth int, began, ended uint64) []byte {
	b := m.Order.AppendUint64(m.Common(10, pid), fn)
	b = m.Order.AppendUint32(m.Order.AppendUint32(b, uint32(depth)), 0)
	return m.Order.AppendUint64(m.Order.AppendUint64(b, began), ended)
}

// LeaveUntimed is a GraphExitUntimed.
func (m Machine) LeaveUntimed(pid int, fn uint64, depth int, returned uint64) []byte {
	b := m.Order.AppendUint64(m.Order.AppendUint64(m.Common(10, pid), fn), returned)
	return m.Order.AppendUint32(m.Order.AppendUint32(b, uint32(depth)), 0)
}
