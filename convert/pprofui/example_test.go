package pprofui_test

import (
	"fmt"
	"net/http"
	"strings"

	"kprof/convert/pprofui"
	"kprof/convert/stacks"
)

// Example shows a profile to those who know the address.
func Example() {
	set := stacks.New(stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	at := set.AddLocation(set.AddMapping(stacks.Mapping{File: "/bin/app", Limit: 0x1000}), 0x10, stacks.KindUser)
	set.SetLines(at, stacks.Line{Function: set.AddFunction(stacks.Function{Name: "work"})})
	set.Add(0, set.Intern([]uint32{at}), 0, 3)

	var shown pprofui.Profiles
	if err := shown.Show(set); err != nil {
		fmt.Println(err)
		return
	}
	server, err := pprofui.Listen("localhost:0", pprofui.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ready := make(chan struct{})
	served := make(chan error)
	go func() { served <- server.Serve(&shown, func() { close(ready) }) }()
	<-ready

	token := strings.Split(server.URL(), "/")[3]
	for _, url := range []string{server.URL() + "top", strings.Replace(server.URL(), token, "guessed", 1) + "top"} {
		r, err := http.Get(url)
		if err != nil {
			fmt.Println(err)
			return
		}
		r.Body.Close()
		fmt.Println(r.Status)
	}
	fmt.Println(server.Close(), <-served)
	// Output:
	// 200 OK
	// 403 Forbidden
	// <nil> <nil>
}
