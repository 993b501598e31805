// The state is in the address, so that a link shows the same view.

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

// Mouse and keyboard.

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
// Drawn anew only if need be, as right after loading it is not: a frame that is replaced while
// a button of the mouse is held down is not clicked.
new ResizeObserver(() => {
	if (graphWidth() !== width) draw()
}).observe(stage)
show()
readHash()
