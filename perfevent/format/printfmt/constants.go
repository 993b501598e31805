package printfmt

// constants are names that kernels print in formats unresolved and whose values are
// the same in all of them: of include/uapi, or never changed.
var constants = map[string]uint64{
	"false": 0, "true": 1,

	// include/linux/interrupt.h
	"HI_SOFTIRQ": 0, "TIMER_SOFTIRQ": 1, "NET_TX_SOFTIRQ": 2, "NET_RX_SOFTIRQ": 3, "BLOCK_SOFTIRQ": 4,
	"IRQ_POLL_SOFTIRQ": 5, "BLOCK_IOPOLL_SOFTIRQ": 5, "TASKLET_SOFTIRQ": 6, "SCHED_SOFTIRQ": 7,
	"HRTIMER_SOFTIRQ": 8, "RCU_SOFTIRQ": 9,

	// include/linux/hrtimer.h
	"HRTIMER_NORESTART": 0, "HRTIMER_RESTART": 1,

	// include/uapi/linux/ioprio.h
	"IOPRIO_CLASS_NONE": 0, "IOPRIO_CLASS_RT": 1, "IOPRIO_CLASS_BE": 2, "IOPRIO_CLASS_IDLE": 3,
	"IOPRIO_CLASS_INVALID": 7,

	// include/linux/printk.h
	"DUMP_PREFIX_NONE": 0, "DUMP_PREFIX_ADDRESS": 1, "DUMP_PREFIX_OFFSET": 2,

	// include/linux/socket.h
	"AF_UNSPEC": 0, "AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10,

	// include/net/tcp_states.h; BPF_TCP_* of include/uapi/linux/bpf.h are the same
	"TCP_ESTABLISHED": 1, "TCP_SYN_SENT": 2, "TCP_SYN_RECV": 3, "TCP_FIN_WAIT1": 4, "TCP_FIN_WAIT2": 5, "TCP_TIME_WAIT": 6,
	"TCP_CLOSE": 7, "TCP_CLOSE_WAIT": 8, "TCP_LAST_ACK": 9, "TCP_LISTEN": 10, "TCP_CLOSING": 11, "TCP_NEW_SYN_RECV": 12,
}
