// Drawing. Frames of one colour are one path; where the mouse is, is
// found by reckoning.

const NARROWEST = 0.3 // pixels that a frame has at least to be drawn
const PAD = 4, MARK = 6

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

const graphWidth = () => info.width ? info.width - 20 : Math.max(100, stage.clientWidth - stagePadding())

function draw() {
	width = graphWidth()
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
// picture.go does.
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
