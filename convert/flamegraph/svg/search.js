// Search: the share of all samples that go through a frame that matches, each
// counted once, whether or not that frame is drawn.

// compile returns a regular expression, case-blind unless there are capital letters
// in it, of which escapes like \W are none. It throws where it is none. Pages
// (html/state.js) do the same.
function compile(text) {
	const letters = text.replace(/\\([pP]\{[^}]*\}|.)/g, '')
	const blind = /\p{Lu}/u.test(letters) ? '' : 'i'
	try {
		return new RegExp(text, blind + 'u')
	} catch (e) {
		return new RegExp(text, blind)
	}
}

// digits reads numbers as svgIndex has them.
function* digits(text) {
	let n = 0, scale = 1
	for (let i = 0; i < text.length; i++) {
		const c = text.charCodeAt(i)
		const d = c > 96 ? c - 71 : c > 64 ? c - 65 : c > 47 ? c + 4 : c === 43 ? 62 : 63
		n += (d & 31) * scale
		scale *= 32
		if (d < 32) {
			yield n
			n = 0
			scale = 1
		}
	}
}

const weigh = (v, b) => diff ? (v + info.scale * b) / 2 : v

// all is the tree of all frames, as {name, end, wide}, or null.
let all = null

// totals are how much each name has, or null.
let totals = null

function decodeSearch() {
	if (!info.search) {
		all = {name, end, wide}
		return
	}
	if (!info.search.unit) {
		totals = new Float64Array(info.names.length).fill(-1)
		const numbers = digits(info.search.totals)
		for (let i = 0; ; i++) {
			const v = numbers.next()
			if (v.done) return
			totals[i] = weigh(v.value, diff ? numbers.next().value : 0)
		}
	}
	all = decodeAll(Array.from(digits(info.search.tree)), diff ? 4 : 3)
}

function decodeAll(numbers, each) {
	const n = numbers.length / each
	const all = {name: new Int32Array(n), end: new Int32Array(n), wide: new Float64Array(n)}
	const path = [], above = new Int32Array(n)
	for (let i = 0, at = 0; i < n; i++, at += each) {
		for (let up = numbers[at]; up > 0; up--) all.end[path.pop()] = i
		above[i] = path.length ? path[path.length - 1] : -1
		all.name[i] = numbers[at + 1]
		all.wide[i] = info.search.unit * weigh(numbers[at + 2], diff ? numbers[at + 3] : 0)
		path.push(i)
	}
	for (const i of path) all.end[i] = n
	for (let i = n - 1; i > 0; i--) all.wide[above[i]] += all.wide[i]
	return all
}

// sumFound sums up the frames of a tree that match and lie below one, those within
// others once.
function sumFound(tree, top) {
	let sum = 0
	for (let i = top + 1; i < tree.end[top];) {
		if (found[tree.name[i]]) {
			sum += tree.wide[i]
			i = tree.end[i]
		} else i++
	}
	return sum
}

// inAll is the node of the tree of all frames that a frame is, -1 if that is not
// known: in the order of time, it is several.
function inAll(i) {
	if (!all || info.byTime && info.search) return -1
	if (!info.search) return i
	const path = []
	for (; i > 0; i = parent[i]) path.push(i)
	let above = 0
	while (path.length) {
		const n = name[path.pop()]
		let c = above + 1
		while (c < all.end[above] && all.name[c] !== n) c = all.end[c]
		if (c >= all.end[above]) return -1
		above = c
	}
	return above
}

// matched says how much is found below a frame, of as much as it has.
function matched(top) {
	for (let i = top; i > 0; i = parent[i]) if (found[name[i]]) return percent(1, 1)
	let sum, exact = true
	const node = top > 0 ? inAll(top) : 0
	if (all && node >= 0) sum = sumFound(all, node)
	else {
		sum = sumFound({name, end, wide}, top)
		exact = !someLeftOut(top)
		if (top === 0) {
			let least = 0, most = 0
			for (let n = 0; n < found.length; n++) {
				if (!found[n]) continue
				least = Math.max(least, totals[n])
				most += totals[n] < 0 ? Infinity : totals[n]
			}
			sum = Math.max(sum, least)
			exact ||= info.search.whole && sum >= most
		}
	}
	return (exact ? '' : 'at least ') + percent(sum, wide[top])
}

// someLeftOut reports whether something below a frame is not drawn.
function someLeftOut(top) {
	if (diff) return true // perhaps of the base only
	for (let i = top; i < end[top]; i++) if (numbers[i * fields + 4] > 0) return true
	return false
}

function search(text) {
	pattern = text
	found = null
	input.classList.remove('wrong')
	input.setCustomValidity('')
	share.textContent = ''
	if (text === '') return
	let re
	try {
		re = compile(text)
	} catch (e) {
		input.classList.add('wrong')
		input.setCustomValidity(e.message)
		share.textContent = 'not a regular expression'
		return
	}
	if (!all && !totals) decodeSearch()
	found = Uint8Array.from(info.names, n => re.test(n) ? 1 : 0)
	share.textContent = matched(0) + ' matched'
	if (zoom > 0) share.textContent = matched(zoom) + ' matched here, ' + matched(0) + ' in all'
}
