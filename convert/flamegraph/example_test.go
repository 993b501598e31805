package flamegraph_test

import (
	"bytes"
	"fmt"
	"log"
	"strings"

	"kprof/convert/flamegraph"
	"kprof/convert/folded"
)

func ExampleWrite() {
	set, err := folded.Read(strings.NewReader("sh;main;parse 1\nsh;main;read;vfs_read_[k] 3\n"), folded.ReadOptions{Comm: true})
	if err != nil {
		log.Fatal(err)
	}
	var svg bytes.Buffer
	cut, err := flamegraph.Write(&svg, set, flamegraph.Options{Title: "A shell", Width: 800})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(cut.Frames, "frames are left out of", strings.SplitN(svg.String(), "\n", 2)[0])
	// Output:
	// 0 frames are left out of <svg xmlns="http://www.w3.org/2000/svg" width="800" height="176" viewBox="0 0 800 176" role="img">
}
