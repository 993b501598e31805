// How values, shares and names read.

const scales = {
  __proto__: null, // units are texts of the profile
  nanoseconds: [['ns', 1], ['µs', 1e3], ['ms', 1e6], ['s', 1e9]],
  microseconds: [['µs', 1], ['ms', 1e3], ['s', 1e6]],
  milliseconds: [['ms', 1], ['s', 1e3]],
  seconds: [['s', 1]],
  bytes: [['B', 1], ['kB', 1024], ['MB', 1024 ** 2], ['GB', 1024 ** 3], ['TB', 1024 ** 4]],
  kilobytes: [['kB', 1], ['MB', 1024], ['GB', 1024 ** 2], ['TB', 1024 ** 3]],
  megabytes: [['MB', 1], ['GB', 1024], ['TB', 1024 ** 2]],
  gigabytes: [['GB', 1], ['TB', 1024]],
};

const wholeNumber = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

// counted is a number of things: "1 row", "2 rows".
function counted(n, thing) { return `${wholeNumber.format(n)} ${thing}${n === 1 ? '' : 's'}`; }

// formatValue writes times and sizes in a unit that suits, all else as a number.
function formatValue(value, unit) {
  const scale = scales[unit];
  // Above 2^53 numbers are rounded.
  if (!scale) return (Math.abs(value) > Number.MAX_SAFE_INTEGER ? '≈\u202f' : '') + wholeNumber.format(value).replaceAll(',', '\u202f');
  let i = scale.length - 1;
  while (i > 0 && Math.abs(value) < scale[i][1]) i--;
  const x = value / scale[i][1];
  const digits = i === 0 || Math.abs(x) >= 100 ? 0 : Math.abs(x) >= 10 ? 1 : 2;
  return `${x.toFixed(digits)}\u202f${scale[i][0]}`;
}

// formatShare writes a share in percent with two digits. Of what lies in the middle of
// two of them the even one is taken, as Go does it, so that tables of the command line
// read the same; toFixed takes the larger.
function formatShare(value, total) {
  if (!total) return '–';
  const x = 100 * value / total;
  const middle = Number.isInteger(x * 8) && Math.abs(x * 100 % 1) === 0.5;
  return `${(middle ? 2 * Math.round(x * 50) / 100 : x).toFixed(2)}%`;
}

// shown replaces what would change how the text around it reads: control
// characters, line ends and marks of direction.
function shown(name) {
  return name.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, '\ufffd');
}

// element makes an HTML element. What is not an element itself is put in as text.
/** @returns {any} */
function element(tag, properties = {}, ...children) {
  const e = Object.assign(document.createElement(tag), properties);
  e.append(...children);
  return e;
}

// formatTime writes ns in the unit that suits, with all digits that tell times apart.
function formatTime(ns) {
  /** @type {[number, string]} */
  const scale = ns >= 1e9 || ns === 0 ? [1e9, 's'] : ns >= 1e6 ? [1e6, 'ms'] : ns >= 1e3 ? [1e3, 'µs'] : [1, 'ns'];
  return `${Number((ns / scale[0]).toPrecision(6))}\u202f${scale[1]}`;
}
