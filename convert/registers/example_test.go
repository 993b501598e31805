package registers_test

import (
	"context"
	"log"
	"os"

	"kprof/convert"
	"kprof/convert/listing"
	"kprof/convert/registers"
)

// What a kernel did last, of the log of its end.
func Example() {
	rec, err := convert.OpenRecordingFile("testdata/oops.log")
	if err != nil {
		log.Fatal(err)
	}
	defer rec.Close()
	var c registers.Collector
	if _, err := listing.Read(context.Background(), rec, listing.Options{}, &c); err != nil {
		log.Fatal(err)
	}
	t := c.Table()
	t.Registers = nil
	if err := registers.Text(os.Stdout, t, registers.WriteOptions{}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// Without an end, the last first:
	//   [001] 0.168429: init/67 0xffffffc008009104 R32 access_registers+0x6c [access] unended
	//
	//     total       p50       p99       max  register
}
