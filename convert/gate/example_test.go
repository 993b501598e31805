package gate_test

import (
	"fmt"
	"net/http"
	"strings"

	"kprof/convert/gate"
)

// Example answers those who know the address.
func Example() {
	server, err := gate.Listen("localhost:0", gate.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	served := make(chan error)
	go func() {
		served <- server.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path) }))
	}()

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
