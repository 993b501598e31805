// What is shown.

let zoom = 0 // the frame that fills the width
let pattern = '' // what is searched for, as typed
let found = null // by name, 1 for those that match
let chosen = -1 // by the keyboard, or the last one clicked
let at = -1 // under the mouse

// The page, which takes the place of the picture.

const SVG = 'http://www.w3.org/2000/svg'
const HTML = 'http://www.w3.org/1999/xhtml'
const PITCH = 18, BOX = 17 // of rows and frames, in pixels

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

// takeOver puts the page in the place of the picture, as wide as the window, also
// on a phone, which would take it for 980 pixels otherwise.
function takeOver() {
	const viewport = element('meta')
	viewport.name = 'viewport'
	viewport.content = 'width=device-width'
	document.getElementById('picture').remove()
	svg.removeAttribute('viewBox')
	svg.setAttribute('width', '100%')
	svg.setAttribute('height', '100%')
	const all = shape('foreignObject', {x: 0, y: 0, width: '100%', height: '100%'})
	all.append(page)
	svg.append(viewport, all)
}
