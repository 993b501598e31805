function (info, numbers) {
	'use strict'
	const svg = document.currentScript.closest('svg')
	if (document.documentElement !== svg) return // a picture in another page

	const SVG = 'http://www.w3.org/2000/svg'
	const HTML = 'http://www.w3.org/1999/xhtml'
	const PITCH = 18, BOX = 17 // of rows and frames, in pixels
	const NARROWEST = 0.3 // pixels that a frame has at least to be drawn
	const PAD = 4, MARK = 6

	// ---- The frames, in preorder: those below frame i are i+1 to end[i]-1.

	const diff = info.scale > 0
	const fields = diff || info.byTime ? 6 : 5
	const count = numbers.length / fields
	const name = new Int32Array(count), color = new Uint8Array(count), mark = new Uint8Array(count)
	const depth = new Int32Array(count), parent = new Int32Array(count), end = new Int32Array(count)
	const value = new Float64Array(count), base = new Float64Array(count), self = new Float64Array(count)
	const left = new Float64Array(count), wide = new Float64Array(count) // where frames lie, in values

	function decode() {
		const path = [] // from the root to the frame before
		const next = [0] // where the next frame of each depth begins
		for (let i = 0, n = 0; i < count; i++, n += fields) {
			for (let up = numbers[n]; up > 0; up--) end[path.pop()] = i
			depth[i] = path.length
			parent[i] = path.length ? path[path.length - 1] : -1
			name[i] = numbers[n + 1]
			color[i] = numbers[n + 2] & 63
			mark[i] = numbers[n + 2] >> 6
			value[i] = numbers[n + 3]
			self[i] = value[i] - numbers[n + 4]
			if (parent[i] >= 0) self[parent[i]] -= value[i]
			if (diff) base[i] = numbers[n + 5]
			wide[i] = diff ? (value[i] + info.scale * base[i]) / 2 : value[i]
			left[i] = info.byTime ? numbers[n + 5] : next[path.length]
			next[path.length] = left[i] + wide[i]
			next[path.length + 1] = left[i]
			path.push(i)
		}
		for (const i of path) end[i] = count
	}
	decode()

	const nameOf = i => i === 0 ? 'all' : info.names[name[i]]

	function* children(i) {
		for (let c = i + 1; c < end[i]; c = end[c]) yield c
	}

	const within = (i, above) => above <= i && i < end[above]

	// ---- What is shown.

	let zoom = 0 // the frame that fills the width
	let pattern = '' // what is searched for, as typed
	let found = null // by name, 1 for those that match
	let chosen = -1 // by the keyboard, or the last one clicked
	let at = -1 // under the mouse

	// ---- The page.

	function element(tag, cls, ...inner) {
		const e = document.createElementNS(HTML, tag)
		if (cls) e.className = cls
		e.append(...inner)
		return e
	}

	function shape(tag, attributes) {
		const e = document.createElementNS(SVG, tag)
		for (const a in attributes) e.setAttribute(a, attributes[a])
		return e
	}

	const graph = shape('svg', {class: 'graph'})
	const layers = shape('g', {})
	const outlineAt = shape('rect', {class: 'at', visibility: 'hidden', height: BOX})
	const outlineChosen = shape('rect', {class: 'chosen', visibility: 'hidden', height: BOX})
	graph.append(layers, outlineChosen, outlineAt)

	const input = element('input')
	input.type = 'search'
	input.placeholder = 'Search: regular expression'
	input.title = 'Ctrl-F or /'
	input.setAttribute('aria-label', 'Search')
	input.spellcheck = false
	const share = element('output', 'found-share')
	const reset = element('button', '', 'Reset zoom')
	reset.title = 'Escape'
	const tools = element('div', 'tools', share, input, reset)

	const legend = element('ul', 'legend')
	for (const l of info.legend) {
		const s = shape('svg', {width: 16, height: 12, 'aria-hidden': true})
		s.append(shape('rect', {class: l.color < 0 ? 'empty' : 'c' + l.color, width: 16, height: 12, rx: 2}))
		if (info.marks[l.mark]) s.append(shape('path', {class: 'mark', d: 'M5 3' + info.marks[l.mark]}))
		const li = element('li', '', l.text)
		li.prepend(s)
		legend.append(li)
	}

	const bar = element('div', 'bar', element('h1', '', info.title), tools,
		element('div', '', ...info.notes.map(n => element('p', '', n))), legend)
	const stage = element('div', 'stage', graph)
	stage.tabIndex = 0
	stage.setAttribute('role', 'application')
	stage.setAttribute('aria-label', info.title)
	const foot = element('div', 'foot')
	foot.setAttribute('aria-live', 'polite')
	const page = element('div', 'page', bar, stage, foot)

	function takeOver() {
		document.getElementById('picture').remove()
		svg.removeAttribute('viewBox')
		svg.setAttribute('width', '100%')
		svg.setAttribute('height', '100%')
		const all = shape('foreignObject', {x: 0, y: 0, width: '100%', height: '100%'})
		all.append(page)
		svg.append(all)
	}

	// ---- Drawing. Frames of one colour are one path; where the mouse is, is
	// found by reckoning.

	let width = 0 // of the graph, in pixels
	let rows = 1 // that the graph has
	let letter = 7.3 // width of a letter

	const scale = () => width / wide[zoom]
	const rowOf = i => info.inverted ? depth[i] : rows - 1 - depth[i]

	// place returns where a frame lies in the graph: x and width in pixels. Those
	// that hold the zoomed one fill the graph.
	function place(i) {
		if (within(zoom, i)) return [0, width]
		return [(left[i] - left[zoom]) * scale(), wide[i] * scale()]
	}

	function draw() {
		width = info.width ? info.width - 20 : Math.max(100, stage.clientWidth - stagePadding())
		rows = 1 + deepestBelow(zoom)
		const height = rows * PITCH
		graph.setAttribute('width', width)
		graph.setAttribute('height', height)
		layers.replaceChildren()
		layers.setAttribute('class', found ? 'searching' : '')
		const paths = new Map()
		const marks = [], labels = []
		for (let i = zoom; i >= 0; i = parent[i]) box(i, paths, marks, labels)
		for (let i = zoom + 1; i < end[zoom];) {
			if (wide[i] * scale() < NARROWEST) {
				i = end[i]
				continue
			}
			box(i, paths, marks, labels)
			i++
		}
		for (const [cls, d] of paths) layers.append(shape('path', {class: cls, d: d.join('')}))
		layers.append(shape('path', {class: 'mark', d: marks.join('')}))
		const names = shape('g', {class: 'names'})
		layers.append(names)
		write(names, labels)
		outline(outlineAt, at)
		outline(outlineChosen, chosen)
		reset.disabled = zoom === 0
	}

	function stagePadding() {
		const s = getComputedStyle(stage)
		return parseFloat(s.paddingLeft) + parseFloat(s.paddingRight)
	}

	function deepestBelow(i) {
		let d = depth[i]
		for (let j = i + 1; j < end[i];) {
			if (wide[j] * scale() < NARROWEST) {
				j = end[j]
				continue
			}
			d = Math.max(d, depth[j++])
		}
		return d
	}

	const tenth = x => Math.round(x * 10) / 10

	function box(i, paths, marks, labels) {
		const [x, w] = place(i)
		const y = rowOf(i) * PITCH
		const x0 = tenth(x), x1 = tenth(x + w)
		let cls = 'c' + color[i]
		if (found && i > 0 && found[name[i]]) cls = 'found'
		else if (i !== zoom && within(zoom, i)) cls += ' above'
		let d = paths.get(cls)
		if (!d) paths.set(cls, d = [])
		const drawn = tenth(x1 - x0 >= 3 ? x1 - x0 - 0.6 : Math.max(x1 - x0, 0.1))
		d.push('M', x0, ' ', y, 'h', drawn, 'v', BOX, 'h-', drawn, 'z')
		if (x1 - x0 <= PAD + MARK + 2) return
		let text = x0 + PAD
		const m = i > 0 && info.marks[mark[i]]
		if (m) {
			marks.push('M', text, ' ', y + (BOX - MARK) / 2, m)
			text += MARK + PAD
		}
		const room = x1 - PAD / 2 - text
		if (room >= 3 * letter) labels.push([text, y + 13, nameOf(i), room])
	}

	// write writes names as far as there is room for them.
	function write(names, labels) {
		const check = []
		for (const [x, y, full, room] of labels) {
			let label = full
			const fits = Math.floor(room / letter)
			if (label.length > fits) label = shortened(withoutPath(label), fits)
			const t = shape('text', {x: tenth(x), y: y})
			t.textContent = label
			names.append(t)
			if (/[^\x20-\x7e]/.test(label.replace(/…$/, ''))) check.push([t, label, room])
		}
		// Other characters may be wider: those labels are measured.
		for (let [t, label, room] of check) {
			while (label && t.getComputedTextLength() > room) {
				const n = Array.from(label).length
				label = n > 3 ? shortened(label, Math.min(n - 2, Math.floor(n * room / t.getComputedTextLength()))) : ''
				t.textContent = label
			}
		}
	}

	// withoutPath takes off the path that Go's names have in front, as pathLen in
	// svgpicture.go does.
	const withoutPath = text => text.replace(/^[^(<[ ]*\/(?=.*\.)/, '')

	function shortened(text, n) {
		if (text.length <= n) return text
		return n < 3 ? '' : Array.from(text).slice(0, n - 1).join('') + '…'
	}

	function measure() {
		const names = shape('g', {class: 'names'})
		const t = shape('text', {})
		t.textContent = 'm'.repeat(100)
		names.append(t)
		layers.append(names)
		letter = Math.max(1, t.getComputedTextLength() / 100)
		names.remove()
	}

	function outline(rect, i) {
		if (i < 0 || !(within(i, zoom) || within(zoom, i))) {
			rect.setAttribute('visibility', 'hidden')
			return
		}
		const [x, w] = place(i)
		rect.setAttribute('x', tenth(x))
		rect.setAttribute('y', rowOf(i) * PITCH)
		rect.setAttribute('width', Math.max(1, tenth(w)))
		rect.setAttribute('visibility', 'visible')
	}

	// ---- Details.

	const plain = new Intl.NumberFormat('en')

	function scaled(v, step, units) {
		let u = 0
		while (u < units.length - 1 && Math.abs(v) >= step) {
			v /= step
			u++
		}
		return plain.format(Math.round(v * 100) / 100) + ' ' + units[u]
	}

	function amount(v) {
		switch (info.unit) {
		case 'nanoseconds': return scaled(v, 1000, ['ns', 'µs', 'ms', 's'])
		case 'bytes': return scaled(v, 1024, ['B', 'kB', 'MB', 'GB', 'TB'])
		case 'count': return plain.format(v) + ' ' + info.type
		}
		return plain.format(v) + ' ' + info.unit
	}

	const percent = (a, b) => (b > 0 ? 100 * a / b : 0).toFixed(2) + '%'

	function signed(x) {
		const digits = Math.abs(x).toFixed(2)
		return (x < 0 && digits !== '0.00' ? '−' : '+') + digits
	}

	function detailsOf(i) {
		const d = [amount(value[i]), percent(value[i], value[0]) + ' of all']
		if (diff) {
			const is = value[i], was = info.scale * base[i]
			const allIs = value[0], allWas = info.scale * base[0]
			d.push('base ' + amount(base[i]) + ', ' + percent(was, allWas))
			if (was === 0) d.push('new')
			else if (is === 0) d.push('gone')
			else d.push(signed(100 * (is - was) / was) + '% of its share')
			d.push(signed(100 * (is / allIs - was / allWas)) + ' points')
		} else {
			if (zoom > 0 && i !== zoom && within(i, zoom)) d.push(percent(value[i], value[zoom]) + ' of ' + nameOf(zoom))
			if (!info.reverse && i > 0) d.push('self ' + percent(self[i], value[0]))
			if (i > 0 && info.kinds[mark[i]]) d.push(info.kinds[mark[i]])
		}
		return d.join(' · ')
	}

	function describe() {
		const i = at >= 0 ? at : chosen >= 0 ? chosen : zoom
		foot.replaceChildren(element('b', '', nameOf(i)), ' ', element('span', '', detailsOf(i)))
	}

	// ---- Search: the share of all that goes through a frame that matches, each
	// sample counted once.

	function search(text) {
		pattern = text
		found = null
		input.classList.remove('wrong')
		input.setCustomValidity('')
		share.textContent = ''
		if (text === '') return
		let re
		try {
			re = new RegExp(text, /[A-Z]/.test(text) ? 'u' : 'iu')
		} catch (e) {
			try {
				re = new RegExp(text, /[A-Z]/.test(text) ? '' : 'i')
			} catch (e) {
				input.classList.add('wrong')
				input.setCustomValidity(e.message)
				share.textContent = 'not a regular expression'
				return
			}
		}
		found = Uint8Array.from(info.names, n => re.test(n) ? 1 : 0)
		let all = 0, here = 0
		for (let i = 1; i < count;) {
			if (!found[name[i]]) {
				i++
				continue
			}
			all += wide[i]
			// A frame above the zoomed one matches all of that.
			here += within(zoom, i) ? wide[zoom] : within(i, zoom) ? wide[i] : 0
			i = end[i]
		}
		share.textContent = percent(all, wide[0]) + ' matched'
		if (zoom > 0) share.textContent = percent(here, wide[zoom]) + ' matched here, ' + percent(all, wide[0]) + ' in all'
	}

	// ---- The state is in the address, so that a link shows the same view.

	function hash() {
		const p = new URLSearchParams()
		if (zoom) p.set('zoom', zoom)
		if (pattern) p.set('search', pattern)
		return '#' + p
	}

	let shown = '#' // the address of what is shown

	// show shows the state as it is now.
	function show() {
		shown = hash()
		search(pattern)
		if (chosen >= 0 && !within(chosen, zoom)) chosen = -1
		draw()
		describe()
		showRoot()
	}

	function readHash() {
		if ((location.hash || '#') === shown) return
		const p = new URLSearchParams(location.hash.slice(1))
		const z = Number(p.get('zoom'))
		zoom = Number.isInteger(z) && z > 0 && z < count ? z : 0
		pattern = input.value = p.get('search') || ''
		show()
		shown = location.hash || '#'
	}

	// go makes a new entry in the history, of what leads back by going back.
	function go(z) {
		if (z === zoom) return
		zoom = z
		show()
		location.hash = shown
	}

	// replace changes the address without an entry.
	function replace() {
		shown = hash()
		try {
			history.replaceState(null, '', hash() === '#' ? location.pathname + location.search : hash())
		} catch (e) {
			location.replace(hash())
		}
	}

	function showRoot() {
		stage.scrollTop = info.inverted ? 0 : stage.scrollHeight
	}

	// ---- Mouse and keyboard.

	// frameAt returns the frame at a point of the window, or -1.
	function frameAt(event) {
		const r = graph.getBoundingClientRect()
		const x = event.clientX - r.left
		const row = Math.floor((event.clientY - r.top) / PITCH)
		const want = info.inverted ? row : rows - 1 - row
		if (x < 0 || x >= width || row < 0 || row >= rows) return -1
		let i = zoom
		if (want <= depth[zoom]) {
			while (depth[i] > want) i = parent[i]
			return i
		}
		const v = left[zoom] + x / scale()
		while (i >= 0 && depth[i] < want) {
			let inside = -1
			for (const c of children(i)) {
				if (v < left[c]) break
				if (v < left[c] + wide[c]) {
					inside = c
					break
				}
			}
			i = inside
		}
		return i >= 0 && place(i)[1] >= NARROWEST ? i : -1
	}

	function point(event) {
		const i = frameAt(event)
		if (i === at) return
		at = i
		outline(outlineAt, at)
		describe()
	}

	graph.addEventListener('mousemove', point)
	graph.addEventListener('mouseleave', () => {
		at = -1
		outline(outlineAt, at)
		describe()
	})
	graph.addEventListener('click', event => {
		const i = frameAt(event)
		if (i < 0) return
		chosen = i
		if (i !== zoom) go(i)
		else choose(i)
	})
	reset.addEventListener('click', () => go(0))
	input.addEventListener('input', () => {
		search(input.value)
		draw()
		replace()
	})
	input.addEventListener('keydown', event => {
		if (event.key === 'Enter') stage.focus()
	})

	function choose(i) {
		if (i < 0) return
		chosen = i
		at = -1
		outline(outlineAt, at)
		outline(outlineChosen, chosen)
		describe()
		const y = rowOf(i) * PITCH
		if (y < stage.scrollTop) stage.scrollTop = y
		else if (y + PITCH > stage.scrollTop + stage.clientHeight) stage.scrollTop = y + PITCH - stage.clientHeight
	}

	// sibling returns the frame beside i, on the left or the right, or -1.
	function sibling(i, step) {
		if (i === zoom || parent[i] < 0) return -1
		let before = -1
		for (const c of children(parent[i])) {
			if (place(c)[1] < NARROWEST) continue
			if (step < 0 && c === i) return before
			if (step > 0 && before === i) return c
			before = c
		}
		return -1
	}

	function widestChild(i) {
		let best = -1
		for (const c of children(i)) if (best < 0 || wide[c] > wide[best]) best = c
		return best
	}

	const outward = () => chosen < 0 ? zoom : parent[chosen] >= 0 ? parent[chosen] : -1
	const inward = () => chosen < 0 ? zoom : !within(chosen, zoom) ? childTowards(zoom) : widestChild(chosen)

	// childTowards returns the child of the chosen frame that holds i.
	function childTowards(i) {
		while (parent[i] !== chosen) i = parent[i]
		return i
	}

	const keys = {
		ArrowUp: () => choose(info.inverted ? outward() : inward()),
		ArrowDown: () => choose(info.inverted ? inward() : outward()),
		ArrowLeft: () => choose(chosen < 0 ? zoom : sibling(chosen, -1)),
		ArrowRight: () => choose(chosen < 0 ? zoom : sibling(chosen, 1)),
		Enter: () => chosen >= 0 && go(chosen),
		Backspace: () => zoom > 0 && go(parent[zoom]),
		'/': () => {
			input.focus()
			input.select()
		},
	}

	function clearSearch() {
		input.value = ''
		search('')
		draw()
		replace()
		stage.focus()
	}

	document.addEventListener('keydown', event => {
		if ((event.ctrlKey || event.metaKey) && event.key === 'f') {
			event.preventDefault()
			keys['/']()
			return
		}
		if (event.ctrlKey || event.metaKey || event.altKey) return
		if (event.key === 'Escape') {
			event.preventDefault()
			if (pattern || document.activeElement === input) clearSearch()
			else go(0)
			return
		}
		if (event.target === input || event.target === reset || !keys[event.key]) return
		event.preventDefault()
		keys[event.key]()
	})

	takeOver()
	measure()
	window.addEventListener('hashchange', readHash)
	new ResizeObserver(() => draw()).observe(stage)
	show()
	readHash()
}
