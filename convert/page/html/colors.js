// Kinds of frames, told apart by colour and by a mark.

// frameKinds are numbered as FrameKind is in kprof's convert/calltree/kind.go, and one
// more. Hues are those that flame graphs have had from the start: orange kernel,
// red user, green JIT, aqua inlined.
const frameKinds = [
  { id: 'unknown', text: 'unknown', mark: '?', hue: 215, saturation: 6 },
  { id: 'user', text: 'user', mark: '', hue: 8, saturation: 80 },
  { id: 'kernel', text: 'kernel', mark: 'k', hue: 30, saturation: 88 },
  { id: 'module', text: 'kernel module', mark: 'm', hue: 49, saturation: 86 },
  { id: 'bpf', text: 'BPF', mark: 'b', hue: 268, saturation: 58 },
  { id: 'jit', text: 'JIT', mark: 'j', hue: 108, saturation: 42 },
  { id: 'inlined', text: 'inlined', mark: 'i', hue: 184, saturation: 48 },
  { id: 'guest', text: 'guest', mark: 'g', hue: 218, saturation: 72 },
  { id: 'group', text: 'group', mark: '', hue: 215, saturation: 24 },
  { id: 'plain', text: 'kind not told', mark: '', hue: 20, saturation: 70 },
];
const unknownKind = 0, kernelKind = 2, groupKind = 8, plainKind = 9;

// kindsOfFrames is an index into frameKinds for each frame, those of groups too.
// Of what has a name but no kind, as in text, all is alike.
function kindsOfFrames(p) {
  const kinds = new Uint8Array(p.frameName.length + p.groupNames.length).fill(groupKind);
  for (let f = 0; f < p.frameName.length; f++) {
    const named = !p.names[p.frameName[f]].startsWith('[');
    kinds[f] = p.frameKind[f] === unknownKind && named ? plainKind : p.frameKind[f];
  }
  return kinds;
}

// shades is how many a kind has, so that neighbours can be told apart.
const shades = 6, middleShade = 1;

// palette makes the colours of a theme: fills[kind * shades + shade], as [red, green,
// blue] of 0 to 255 where boxes are mixed of them.
function palette(dark) {
  const fill = (k, shade) => dark
    ? fromHSL(k.hue, k.saturation * 0.55, 27 + 2.2 * shade)
    : fromHSL(k.hue, k.saturation, 66 + 2.6 * shade);
  const faded = (k, shade) => dark
    ? fromHSL(k.hue, k.saturation * 0.16, 18 + shade)
    : fromHSL(k.hue, k.saturation * 0.25, 88 + shade);
  const all = (make) => frameKinds.flatMap((k) => Array.from({ length: shades }, (_, i) => make(k, i)));
  return {
    fills: all(fill),
    faded: all(faded),
    match: dark ? [180, 0, 200] : [240, 108, 255],
    edge: 0.86, // of a colour, at the right edge of a box
    text: dark ? '#f4f2ee' : '#1b1813',
    fadedText: dark ? '#8d8a84' : '#8b8680',
    ground: dark ? [22, 23, 26] : [255, 255, 255],
    axis: dark ? '#9a9a9e' : '#6a6a70',
  };
}

// fromHSL is the colour of a hue in degrees, a saturation and a lightness in percent.
function fromHSL(hue, saturation, lightness) {
  const l = lightness / 100, a = saturation / 100 * Math.min(l, 1 - l);
  return [0, 8, 4].map((n) => {
    const k = (n + hue / 30) % 12;
    return Math.round(255 * (l - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  });
}

/** @type {(color: number[]) => string} */
function cssColor(color) { return `rgb(${color.join(' ')})`; }

// shadeOf is the same for a name wherever it shows.
function shadeOf(text) {
  let h = 0;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return (h >>> 8) % shades;
}

// followTheme draws parts in the colours that the reader's system asks for, now and whenever
// that changes; on paper light.
function followTheme(parts) {
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const apply = (isDark) => {
    for (const part of parts()) {
      part.colors = palette(isDark);
      part.draw();
    }
  };
  dark.addEventListener('change', () => apply(dark.matches));
  window.addEventListener('beforeprint', () => apply(false));
  window.addEventListener('afterprint', () => apply(dark.matches));
  apply(dark.matches);
}
