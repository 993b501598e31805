package payload_test

import (
	"encoding/binary"
	"fmt"
	"log"

	"kprof/convert/payload"
	"kprof/perfevent/abi"
	"kprof/perfevent/format/expr"
	"kprof/perfevent/perfdata"
)

const kmalloc = `name: kmalloc
ID: 474
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:size_t bytes_req;	offset:8;	size:8;	signed:0;
	field:size_t bytes_alloc;	offset:16;	size:8;	signed:0;

print fmt: "bytes_req=%zu bytes_alloc=%zu", REC->bytes_req, REC->bytes_alloc
`

// What a sample of a recording says of a field.
func Example() {
	formats := payload.New(&perfdata.TracingData{LongSize: 8, Tracepoints: []perfdata.Tracepoint{
		{System: "kmem", Name: "kmalloc", ID: 474, Format: kmalloc},
	}})
	events := perfdata.NewEventSet(abi.LittleEndian, []abi.Event{
		{Name: "kmem:kmalloc", Attr: abi.Attr{Type: abi.TypeTracepoint, Config: 474}},
	})

	x, err := expr.Parse("bytes_alloc - bytes_req")
	if err != nil {
		log.Fatal(err)
	}
	bound := formats.Bind(x)
	if err := bound.Check(events.Events); err != nil {
		log.Fatal(err)
	}
	program, err := bound.Of(events.Events[0])
	if err != nil {
		log.Fatal(err)
	}

	raw := make([]byte, 24)
	binary.LittleEndian.PutUint64(raw[8:], 100)
	binary.LittleEndian.PutUint64(raw[16:], 128)
	v, ok := program.Value(&expr.Sample{Raw: raw})
	fmt.Println(v.Int64())
	fmt.Println(ok)
	// Output:
	// 28 false
	// true
}
