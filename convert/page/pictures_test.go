package page

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"kprof/convert/browsertest"
)

var pictures = flag.String("pictures", "", "take pictures of these pages, files with commas between")

// TestPictures takes pictures of pages, for people to look at: every view at three sizes, light and
// dark, as .build/screenshots/PAGE-VIEW-SIZE.png.
func TestPictures(t *testing.T) {
	for _, file := range strings.FieldsFunc(*pictures, func(r rune) bool { return r == ',' }) {
		p := browsertest.OpenFile(t, file, browsertest.View{})
		name := strings.TrimSuffix(filepath.Base(file), ".html")
		for _, v := range []browsertest.View{{Width: 1280, Height: 800}, {Width: 1920, Height: 1080}, {Width: 390, Height: 844, Mobile: true}} {
			for _, v.Dark = range []bool{false, true} {
				p.View(v)
				for _, view := range viewNames {
					p.Do("kprof.set({view: " + js(view) + "})")
					settle(p)
					if browsertest.Eval[string](p, "kprof.state.view") == view {
						p.Screenshot(fmt.Sprintf("%s-%s-%d-%s", name, view, v.Width, map[bool]string{false: "light", true: "dark"}[v.Dark]))
					}
				}
			}
		}
	}
}
