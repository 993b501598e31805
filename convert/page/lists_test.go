package page

import (
	"fmt"
	"testing"

	"kprof/convert/browsertest"
)

// TestLongList: every row of a list can be reached, however many there are: by keys, by steps of
// the wheel, which are as long everywhere, and by the bar at its side.
func TestLongList(t *testing.T) {
	p := openHTML(t, pageSet(), browsertest.View{})
	p.Do("kprof.set({view: 'samples'})")
	p.Do("window.list = kprof.sampleList.list; window.scroller = list.scroller; window.makeRow = list.make; window.drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
	// inSight are the first and the last row that is seen whole: what is drawn where.
	p.Do(`window.inSight = () => {
		const box = scroller.getBoundingClientRect();
		const rows = [...list.body.children].filter((row) => {
			const r = row.getBoundingClientRect();
			return r.top >= box.top - 1 && r.bottom <= box.bottom + 1;
		}).map((row) => Number(row.dataset.row)).sort((a, b) => a - b);
		if (rows.some((n, i) => i && n !== rows[i - 1] + 1) || rows.length < Math.floor(box.height / 26) - 1) throw new Error('rows ' + rows + ' are seen');
		return [rows[0], rows[rows.length - 1]];
	}`)
	for _, count := range []int{1000, 154_000, 1 << 21, 10_000_000} {
		p.Do(fmt.Sprintf("list.make = (i) => makeRow(i %% kprof.sampleList.samples.length); list.show(%d, '')", count))
		seen := func() [2]int {
			p.Do("await drawn()")
			return browsertest.Eval[[2]int](p, "inSight()")
		}
		atEnd := func(what string) {
			t.Helper()
			equal(t, fmt.Sprintf("%d rows: the last, %s", count, what), seen()[1], count-1)
		}
		p.Do("scroller.scrollTop = 0")
		equal(t, fmt.Sprintf("%d rows: the first", count), seen()[0], 0)
		p.Do(`list.body.querySelector('[data-row="0"]').focus()`)
		p.Keys(browsertest.End)
		atEnd("by End")
		p.Keys(browsertest.Up + browsertest.Up)
		equal(t, fmt.Sprintf("%d rows: by keys", count), browsertest.Eval[int](p, "Number(document.activeElement.dataset.row)"), count-3)
		p.Keys(browsertest.Home)
		equal(t, fmt.Sprintf("%d rows: by Home", count), seen()[0], 0)
		p.Do("scroller.scrollTop = 1e9")
		atEnd("by the bar")
		p.Do("scroller.scrollTop = scroller.scrollHeight / 2")
		if middle := seen()[0]; middle < count*4/10 || middle > count*6/10 {
			t.Errorf("%d rows: %d in the middle", count, middle)
		}
		// Steps are as long as they are scrolled, forth and back, over the end of a page.
		for _, step := range []int{1820, -1820} {
			wrong := browsertest.Eval[string](p, fmt.Sprintf(`(async () => {
				let before = inSight()[0];
				for (let i = 0; i < 25; i++) {
					scroller.scrollTop += %d;
					await drawn();
					const now = inSight()[0];
					if (now - before !== %d && now !== 0 && inSight()[1] !== %d) return 'from ' + before + ' to ' + now;
					before = now;
				}
				return '';
			})()`, step, step/26, count-1))
			equal(t, fmt.Sprintf("%d rows: steps by %d", count, step), wrong, "")
		}
	}
}
