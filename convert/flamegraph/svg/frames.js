// The files of this directory are pieces of one function that svgscript.go puts
// together: info is svgData, numbers are the frames.

// The frames, in preorder: those below frame i are i+1 to end[i]-1.

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
