package parts_test

import (
	"fmt"

	"kprof/record/parts"
)

// counted counts the rounds of a part.
type counted int

func (c *counted) Write(a, b []byte) error { return nil }
func (c *counted) FinishRound() error      { *c++; return nil }
func (c *counted) Finish(about parts.About) error {
	fmt.Println(about.Samples, "samples, the last:", about.Last)
	return nil
}

// A part ends when somebody asks for it: with the round that is being taken.
func Example() {
	d := parts.NewDivider(&events()[2], parts.Options{Open: func() (parts.Part, error) { return new(counted), nil }})
	take := func(samples int) error {
		for range samples {
			if err := d.Write(newMaker().sample(sampling, 1, 5, 5, 0x1000), nil); err != nil {
				return err
			}
		}
		return d.FinishRound()
	}
	fmt.Println(take(2), take(1))
	d.Switch()
	fmt.Println(take(4), take(3))
	fmt.Println(d.Close())
	// Unordered output:
	// <nil> <nil>
	// <nil> <nil>
	// 7 samples, the last: false
	// 3 samples, the last: true
	// <nil>
}
