package pprofui_test

import (
	"fmt"
	"net/http/httptest"
	"strings"

	"kprof/convert/pprofui"
	"kprof/convert/stacks"
)

// ExampleHandler shows a profile as pprof does.
func ExampleHandler() {
	set := stacks.New(stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	at := set.AddLocation(set.AddMapping(stacks.Mapping{File: "/bin/app", Limit: 0x1000}), 0x10, stacks.KindUser)
	set.Add(0, set.Intern([]uint32{at}), 0, 3) // in a function that has no name

	pages := pprofui.Handler(func() (*pprofui.Profiles, error) {
		var p pprofui.Profiles
		return &p, p.Show(set)
	}, pprofui.Options{})
	answer := httptest.NewRecorder()
	pages.ServeHTTP(answer, httptest.NewRequest("GET", "/top", nil))
	fmt.Println(answer.Code, strings.Contains(answer.Body.String(), `"Name":"[app]"`))
	// Output: 200 true
}
