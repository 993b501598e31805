package store_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"kprof/convert/stacks"
	"kprof/convert/store"
)

func ExampleSender() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Method, r.URL.Path)
		w.Header().Set("Content-Type", "application/proto")
	}))
	defer server.Close()

	set := stacks.New(stacks.Event{Name: "cpu-clock", Values: []stacks.ValueType{{Type: "samples", Unit: "count"}}})
	set.TimeNanos = time.Now().UnixNano()
	main := set.AddLocation(stacks.NoMapping, 0, stacks.KindUser)
	set.SetLines(main, stacks.Line{Function: set.AddFunction(stacks.Function{Name: "main"})})
	set.Add(0, set.Intern([]uint32{main}), 0, 5)

	client, err := store.NewClient(store.ClientOptions{URL: server.URL})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	sender := store.NewSender(client, store.SenderOptions{
		Pieces: store.PieceOptions{Labels: []store.Label{{Name: "service_name", Value: "web"}}},
	})
	if err := sender.Enqueue(set); err != nil {
		log.Fatal(err)
	}
	if err := sender.Drain(context.Background()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(sender.Counts().Samples, "samples")
	// Output:
	// POST /push.v1.PusherService/Push
	// 5 samples
}
