package page

import (
	"fmt"
	"os"
	"testing"
	"time"

	"kprof/convert/browsertest"
)

func TestZZLook(t *testing.T) {
	url := os.Getenv("LOOK")
	if url == "" {
		t.Skip()
	}
	start := time.Now()
	v := browsertest.View{}
	if os.Getenv("DARK") != "" {
		v.Dark = true
	}
	if os.Getenv("PHONE") != "" {
		v = browsertest.View{Width: 390, Height: 844, Mobile: true}
	}
	p := browsertest.Open(t, url, v)
	settle(p)
	fmt.Println("settled after", time.Since(start), "page's clock", browsertest.Eval[float64](p, "performance.now()"))
	if js := os.Getenv("DO"); js != "" {
		p.Do(js)
		settle(p)
	}
	p.Screenshot("look")
	if js := os.Getenv("EVAL"); js != "" {
		fmt.Println(browsertest.Eval[any](p, js))
	}
}
