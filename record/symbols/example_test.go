package symbols_test

import (
	"context"

	"kprof/perfevent/abi"
	"kprof/record/symbols"
	"kprof/symbolize"
)

// What a recording maps is held until it has been named.
func Example() {
	var sideband abi.Attr                    // of the session's last event
	var takeSideband func(take func([]byte)) // of a session that runs

	files := symbols.NewFileRetainer()
	defer files.Close()
	ids := symbols.NewBuildIDs(&sideband, files)
	if takeSideband != nil {
		takeSideband(ids.Take)
	}
	if _, err := ids.All(context.Background()); err != nil {
		return // some files did not answer
	}
	names := symbolize.New(symbolize.Options{Retained: files})
	defer names.Close()
	// Output:
}
