package trace

import (
	"strconv"
	"strings"

	"kprof/convert/trace/ftracetext"
	"kprof/perfevent/format"
)

// unnamedFields are fields that the print fmt of an event has no names for, by which rules of
// spans find what belongs together:
//
//	sys_enter                NR 0 (3, 7ffd1000, 400, 0, 0, 0)
//	sys_exit                 NR 0 = 12
//	sys_enter_openat         dfd: 0xffffff9c, filename: 0x7ffd1000, flags: 0x0, mode: 0x0
//	sys_exit_openat          0x3
//	sys_enter_openat         sys_openat(dfd: ffffff9c, filename: 7ffd1000, flags: 0, mode: 0)
//	sys_exit_openat          sys_openat -> 0x3
//	block_rq_issue           8,0 WS 4096 () 1234 + 8 none,0,0 [kworker/1:1]
//	block_rq_complete        8,0 WS () 1234 + 8 [0]
//	workqueue_execute_start  work struct 00000000dc2cb5d7: function blk_mq_run_work_fn
//	workqueue_queue_work     work struct=00000000dc2cb5d7 function=blk_mq_run_work_fn ...
//	contention_begin         00000000dc2cb5d7 (flags=SPIN|READ)
//	irq_noise                local_timer:236 start 5789.857529929 duration 1845 ns
//	nmi_noise                start 5789.857529929 duration 1845 ns
//	sample_threshold         start 5789.858404555 duration 8812 ns interference 2
func unnamedFields(fields []ftracetext.Field, event, text string) []ftracetext.Field {
	add := func(name, value string) {
		if value = strings.TrimSpace(value); value != "" {
			fields = append(fields, ftracetext.Field{Name: name, Value: value})
		}
	}
	switch {
	case event == "sys_enter" || event == "sys_exit":
		rest, ok := strings.CutPrefix(text, "NR ")
		if !ok {
			break
		}
		id, rest, _ := strings.Cut(rest, " ")
		add("id", id)
		if ret, ok := strings.CutPrefix(rest, "= "); ok {
			add("ret", ret)
		}
	case strings.HasPrefix(event, "sys_enter_"):
		if args, ok := strings.CutPrefix(text, "sys_"+event[len("sys_enter_"):]+"("); ok {
			text = strings.TrimSuffix(args, ")")
		}
		return argumentFields(fields, text)
	case strings.HasPrefix(event, "sys_exit_"):
		ret := strings.TrimPrefix(text, "sys_"+event[len("sys_exit_"):]+" -> ")
		if n, err := strconv.ParseUint(strings.TrimPrefix(ret, "0x"), 16, 64); err == nil && strings.HasPrefix(ret, "0x") {
			ret = strconv.FormatInt(int64(n), 10) // errors are negative
		}
		if !strings.ContainsAny(ret, " =") {
			add("ret", ret)
		}
	case strings.HasPrefix(event, "block_"):
		return blockFields(fields, event, text)
	case strings.HasPrefix(event, "workqueue_"):
		rest, ok := strings.CutPrefix(text, "work struct")
		if !ok || rest == "" {
			break
		}
		work, rest, _ := strings.Cut(rest[1:], " ")
		add("work", strings.TrimSuffix(work, ":"))
		if function, ok := strings.CutPrefix(rest, "function "); ok {
			add("function", function)
		}
	case ftracetext.OfTracer(event):
		return ftracetext.AppendTracerFields(fields, event, text)
	case strings.HasSuffix(event, "_noise") || event == "sample_threshold":
		return noiseFields(fields, event, text)
	case event == "contention_begin" || event == "contention_end":
		if lock, _, ok := strings.Cut(text, " ("); ok && !strings.Contains(lock, "=") {
			add("lock_addr", lock)
		}
	}
	return fields
}

// argumentFields are the arguments of a system call, "fd: 3, buf: 7ffd1000, count: 200", with their types
// before the names if the tracer's option verbose is set, and since Linux 7.0 with what they point to behind the
// values: strings, which are fields as in a trace.dat, and bytes. Where none has 0x, all are hexadecimal.
//
//	dfd: 0xffffff9c, filename: 0x7ffd1000 "/etc", flags: 0x80000, mode: 0
//	fd: 1, buf: 0x7ffd1000 (61:2c:20:0a, ...) "a, ."..., count: 0x200
func argumentFields(fields []ftracetext.Field, args string) []ftracetext.Field {
	from, bare := len(fields), true
	var strs []ftracetext.Field
	for args != "" {
		name, rest, ok := strings.Cut(args, ": ")
		name = name[strings.LastIndexByte(name, ' ')+1:]
		end := strings.IndexAny(rest, ", ")
		if end < 0 {
			end = len(rest)
		}
		var value string
		value, args = rest[:end], rest[end:]
		bytes := strings.HasPrefix(args, " (")
		if at := strings.IndexByte(args, ')'); bytes && at > 0 {
			args = args[at+1:]
		}
		if s, found := strings.CutPrefix(args, ` "`); found {
			if s, args = quoted(s); !bytes && format.IsFieldName(name) {
				strs = append(strs, ftracetext.Field{Name: "__" + name + "_val", Value: s, Quoted: true})
			}
		}
		_, args, _ = strings.Cut(args, ", ")
		if !ok || !format.IsFieldName(name) {
			continue
		}
		_, err := strconv.ParseUint(value, 16, 64)
		bare = bare && err == nil
		fields = append(fields, ftracetext.Field{Name: name, Value: value})
	}
	for i := from; bare && i < len(fields); i++ {
		fields[i].Value = "0x" + fields[i].Value
	}
	return append(fields, strs...)
}

// quoted is what s has up to the quote that ends an argument: a further one, or nothing, is behind it, and "..."
// before that where the kernel has cut it.
func quoted(s string) (text, rest string) {
	for at := 0; ; at++ {
		i := strings.IndexByte(s[at:], '"')
		if i < 0 {
			return s, ""
		}
		at += i
		rest = strings.TrimPrefix(s[at+1:], "...")
		next, isNext := strings.CutPrefix(rest, ", ")
		name, _, named := strings.Cut(next, ": ")
		if rest == "" || isNext && named && !strings.ContainsAny(name, `",`) {
			return s[:at], rest
		}
	}
}

// blockFields are the fields of events of block devices, which differ in what is between the
// kind of access and the sector.
func blockFields(fields []ftracetext.Field, event, text string) []ftracetext.Field {
	dev, rest, _ := strings.Cut(text, " ")
	major, minor, _ := strings.Cut(dev, ",")
	a, err1 := strconv.ParseUint(major, 10, 12)
	b, err2 := strconv.ParseUint(minor, 10, 20)
	before, behind, ok := strings.Cut(rest, " + ")
	words := strings.Fields(before)
	if err1 != nil || err2 != nil || !ok || len(words) < 2 {
		return fields
	}
	count, behind, _ := strings.Cut(behind, " ")
	fields = append(fields, ftracetext.Field{Name: "dev", Value: strconv.FormatUint(a<<20|b, 10)}, ftracetext.Field{Name: "rwbs", Value: words[0]},
		ftracetext.Field{Name: "sector", Value: words[len(words)-1]}, ftracetext.Field{Name: "nr_sector", Value: count})
	if len(words) > 3 && strings.HasPrefix(words[2], "(") {
		fields = append(fields, ftracetext.Field{Name: "bytes", Value: words[1]})
	}
	if i := strings.IndexByte(behind, '['); i >= 0 && strings.HasSuffix(behind, "]") {
		name := "comm"
		switch event {
		case "block_rq_complete", "block_rq_requeue", "block_rq_error", "block_bio_complete":
			name = "error"
		}
		fields = append(fields, ftracetext.Field{Name: name, Value: behind[i+1 : len(behind)-1]})
	}
	return fields
}

// noiseFields are the fields of what the tracers osnoise and timerlat tell of who took the CPU's time, and
// for how long (include/trace/events/osnoise.h).
func noiseFields(fields []ftracetext.Field, event, text string) []ftracetext.Field {
	at := strings.LastIndex(" "+text, " start ")
	if at < 0 {
		return fields
	}
	who, words := strings.TrimSpace(text[:at]), strings.Fields(text[at:])
	if len(words) < 5 || words[2] != "duration" || words[4] != "ns" {
		return fields
	}
	if i := strings.LastIndexByte(who, ':'); i > 0 {
		name, number := "desc", "vector"
		if event == "thread_noise" {
			name, number = "comm", "pid"
		}
		fields = append(fields, ftracetext.Field{Name: name, Value: who[:i]}, ftracetext.Field{Name: number, Value: who[i+1:]})
	}
	if sec, frac, ok := strings.Cut(words[1], "."); ok && len(frac) == 9 {
		fields = append(fields, ftracetext.Field{Name: "start", Value: strings.TrimLeft(sec+frac, "0")})
	}
	fields = append(fields, ftracetext.Field{Name: "duration", Value: words[3]})
	if len(words) == 7 {
		fields = append(fields, ftracetext.Field{Name: "interference", Value: words[6]})
	}
	return fields
}
