package record

import (
	"errors"
	"os"
	"testing"
)

// TestWithoutShimMain: a program that launches commands without a call of ShimMain is
// refused as the shim that it was to be: it does not start itself again and again.
func TestWithoutShimMain(t *testing.T) {
	args := os.Args
	defer func() { os.Args = args }()
	for _, os.Args = range [][]string{{shimName, "3", "4", "/bin/true", "true"}, {witnessName, "3", "4"}} {
		name := os.Args[0]
		c, err := Launch([]string{"true"}, LaunchOptions{})
		if !errors.Is(err, errNoShimMain) {
			t.Errorf("%s launches: %v", name, err)
			if err == nil {
				_ = c.Release()
			}
		}
		w, err := StartWitness()
		if !errors.Is(err, errNoShimMain) {
			t.Errorf("%s starts a witness: %v", name, err)
			if err == nil {
				_ = w.Close()
			}
		}
	}
}
