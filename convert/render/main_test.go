package render

import (
	"os"
	"testing"

	"kprof/convert/render/browsertest"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Run(m)) }
