package browse_test

import (
	"fmt"
	"log"
	"strings"

	"github.com/gdamore/tcell/v2"

	"kprof/convert/browse"
	"kprof/convert/folded"
)

func ExampleBrowser() {
	set, err := folded.Read(strings.NewReader("main;parse;malloc 2\nmain;read 3\n"), folded.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	b, err := browse.New(set, browse.Options{Title: "x.folded"})
	if err != nil {
		log.Fatal(err)
	}
	screen := tcell.NewSimulationScreen("UTF-8")
	if err := screen.Init(); err != nil {
		log.Fatal(err)
	}
	screen.SetSize(60, 7)
	b.Handle(tcell.NewEventKey(tcell.KeyRune, 't', tcell.ModNone)) // the tree of calls
	b.Draw(screen)
	screen.Show()
	cells, width, _ := screen.GetContents()
	for i := 2 * width; i < 6*width; i += width {
		var line strings.Builder
		for _, c := range cells[i : i+width] {
			line.WriteString(string(c.Runes))
		}
		fmt.Println(strings.TrimRight(line.String(), " "))
	}
	// Output:
	//       self   self%        cum    cum%  function
	//          0   0.00%          5 100.00%  - main
	//          3  60.00%          3  60.00%      read
	//          0   0.00%          2  40.00%    + parse
}
