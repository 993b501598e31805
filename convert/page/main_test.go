package page

import (
	"os"
	"testing"

	"kprof/convert/browsertest"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Run(m)) }
