package viewer_test

import (
	"log"
	"os"
	"strings"

	"kprof/convert/folded"
	"kprof/convert/viewer"
)

func ExampleChrome() {
	set, err := folded.Read(strings.NewReader("sh;main 3\n"), folded.ReadOptions{Comm: true})
	if err != nil {
		log.Fatal(err)
	}
	if err := viewer.Chrome(os.Stdout, set, viewer.Options{Name: "a shell"}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// {"displayTimeUnit":"ns","otherData":{"exporter":"kprof","name":"a shell"},"traceEvents":[
	// {"ph":"M","name":"thread_name","pid":0,"tid":1,"args":{"name":"sh"}},
	// {"ph":"M","name":"process_name","pid":0,"tid":1,"args":{"name":"sh"}},
	// {"ph":"B","pid":0,"tid":1,"ts":0,"name":"main","cat":"Other"},
	// {"ph":"E","pid":0,"tid":1,"ts":3,"name":"main"}
	// ]}
}
