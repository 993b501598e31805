// Details.

const plain = new Intl.NumberFormat('en')

function scaled(v, step, units) {
	let u = 0
	while (u < units.length - 1 && Math.abs(v) >= step) {
		v /= step
		u++
	}
	return plain.format(Math.round(v * 100) / 100) + ' ' + units[u]
}

const times = ['nanoseconds', 'microseconds', 'milliseconds', 'seconds']
const sizes = ['bytes', 'kilobytes', 'megabytes', 'gigabytes']

function amount(v) {
	const time = times.indexOf(info.unit), size = sizes.indexOf(info.unit)
	if (time >= 0) return scaled(v, 1000, ['ns', 'µs', 'ms', 's'].slice(time))
	if (size >= 0) return scaled(v, 1024, ['B', 'kB', 'MB', 'GB', 'TB'].slice(size))
	const about = Math.abs(v) > Number.MAX_SAFE_INTEGER ? '≈ ' : '' // numbers are rounded there
	switch (info.unit) {
	case 'count': case '': case info.type: return about + plain.format(v) + ' ' + info.type
	}
	return about + plain.format(v) + ' ' + info.unit
}

// Of what lies in the middle of two digits the even one is taken, as Go does it.
const percent = (a, b) => {
	const x = b > 0 ? 100 * a / b : 0
	const middle = Number.isInteger(x * 8) && Math.abs(x * 100 % 1) === 0.5
	return (middle ? 2 * Math.round(x * 50) / 100 : x).toFixed(2) + '%'
}

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

