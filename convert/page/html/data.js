// Reading the block of data that the page carries. Its layout is described at
// pageHead in kprof's convert/page/data.go.

async function inflate(base64) {
  const { fromBase64 } = /** @type {any} */ (Uint8Array); // newer browsers have it
  const packed = fromBase64 ? fromBase64.call(Uint8Array, base64) : bytesOf(atob(base64));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function bytesOf(text) {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

// Varints reads Go's varints.
class Varints {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  next() {
    const bytes = this.bytes;
    let b = bytes[this.at++];
    if (b < 0x80) return b;
    let value = b & 0x7f, scale = 128;
    do {
      b = bytes[this.at++];
      value += (b & 0x7f) * scale;
      scale *= 128;
    } while (b >= 0x80);
    return value;
  }

  // nextSigned reads zigzag. The parity of a number above 2^53 would be lost in
  // a sum, so the lowest bit is taken from the first byte.
  nextSigned() {
    const odd = this.bytes[this.at] & 1;
    const value = this.next();
    return odd ? -(value + 1) / 2 : value / 2;
  }

  text(length) {
    const part = this.bytes.subarray(this.at, this.at + length);
    this.at += length;
    return new TextDecoder().decode(part);
  }
}

const frameNumbers = 6; // of each frame in head.frames

/**
 * @typedef {{ type: string, unit: string, factor: number, weighed: boolean }} Column
 *
 * ProfileEvent is an event: rows from to to and, by column, their values.
 * @typedef {{ name: string, columns: Column[], spans?: boolean, from: number, to: number, values: Float64Array[] }} ProfileEvent
 *
 * Moments are samples, see time.js; value if they are no equal parts of rows; times within one
 * of head.bin mean nothing, see span.js.
 * @typedef {{ time: Float64Array, row: Uint32Array, value?: Float64Array }} Moments
 *
 * Profile is what the page shows. Of each frame there are numbers: behind those of the profile, from
 * ownFrames on, of one for each mapping and one for the kernel, see transform.js.
 * @typedef {object} Profile
 * @property {any} head as JSON has it
 * @property {string[]} names of frames
 * @property {string[]} groupNames of the frames that groupTree makes: all values of labels
 * @property {(frame: number) => number} nameOf number of a frame's name
 * @property {(name: number) => string} nameText
 * @property {number} ownFrames
 * @property {Uint32Array} frameName
 * @property {Uint8Array} frameKind
 * @property {Int32Array} frameMapping -1 for none
 * @property {Uint32Array} frameFile
 * @property {Float64Array} frameLine
 * @property {Uint8Array} frameKernel whether it is the kernel's
 * @property {Uint32Array} framePlace by which frames are told apart, see addCollapsedFrames
 * @property {boolean} placesAreNames
 * @property {Stacks} full all stacks, with frames told apart by what holds them
 * @property {Stacks} tree and by name only
 * @property {ProfileEvent[]} events
 * @property {Uint32Array} rowLabels of each row
 * @property {Functions[][]} [functions] by event and column, where stacks are cut
 * @property {Moments} [moments]
 * @property {Uint32Array} [nameRank] see nameRanks
 * @property {Uint32Array} [momentCounts] see momentCounts
 * @property {Map<number, Map<number, string>>} [comms] see commBeside
 */

/** @type {(bytes: Uint8Array) => Profile} */
function decodeProfile(bytes) {
  const input = new Varints(bytes);
  const head = JSON.parse(input.text(input.next()));
  const p = /** @type {Profile} */ ({ head, names: head.names });

  p.ownFrames = head.frames.length / frameNumbers;
  const frames = p.ownFrames + head.mappings.length + 1;
  p.frameName = new Uint32Array(frames);
  p.frameKind = new Uint8Array(frames);
  p.frameMapping = new Int32Array(frames).fill(-1);
  p.frameFile = new Uint32Array(frames);
  p.frameLine = new Float64Array(frames);
  p.frameKernel = new Uint8Array(frames);
  for (let i = 0; i < p.ownFrames; i++) {
    const f = head.frames, at = frameNumbers * i;
    p.frameName[i] = f[at];
    p.frameKind[i] = f[at + 1];
    p.frameMapping[i] = f[at + 2];
    p.frameFile[i] = f[at + 3];
    p.frameLine[i] = f[at + 4];
    p.frameKernel[i] = f[at + 5];
  }
  addCollapsedFrames(p);

  const { depth, frame, alike } = readTree(input, p);
  let rows = 0;
  for (const e of head.events) rows += e.rows;
  const rowNode = new Uint32Array(rows);
  p.rowLabels = new Uint32Array(rows);
  p.events = [];
  let from = 0;
  for (const e of head.events) {
    p.events.push(readEvent(input, p, e, from, rowNode));
    from += e.rows;
  }
  p.full = newTree(p, depth, frame, rowNode);
  p.tree = mergeSiblings(p, p.full, alike);

  if (head.cut) p.functions = p.events.map((e) => e.columns.map(() => readFunctions(input, p.names.length)));
  if (head.moments) p.moments = readMoments(input, p);
  // Values of labels are names too, of the frames that groupTree makes.
  p.groupNames = head.values.flat();
  p.nameOf = (f) => f < frames ? p.frameName[f] : p.names.length + f - frames;
  p.nameText = (name) => name < p.names.length ? p.names[name] : p.groupNames[name - p.names.length];
  return p;
}

// readTree reads the depth and the frame of each node, and which may have a sibling of the same
// name.
function readTree(input, { head: { nodes }, ownFrames, frameName, names }) {
  const at = new Uint32Array(ownFrames + 2); // of the callees of each frame, and of the root
  const callees = [];
  for (let f = 0; f <= ownFrames; f++) {
    for (let left = input.next(); left > 0; left--) callees.push(input.next());
    at[f + 1] = callees.length;
  }
  const shared = new Uint8Array(callees.length), seen = new Uint32Array(names.length); // the last callee of a name, plus 1
  for (let f = 0; f <= ownFrames; f++) {
    for (let c = at[f]; c < at[f + 1]; c++) {
      const name = frameName[callees[c]], before = seen[name];
      if (before > at[f]) shared[before - 1] = shared[c] = 1;
      seen[name] = c + 1;
    }
  }
  const depth = new Uint32Array(nodes), frame = new Uint32Array(nodes), alike = [];
  for (let i = 1; i < nodes; i++) depth[i] = depth[i - 1] + 1 - input.next();
  const path = [ownFrames]; // frames from the root to the node before
  for (let i = 1; i < nodes; i++) {
    const c = at[path[depth[i] - 1]] + input.next();
    frame[i] = path[depth[i]] = callees[c];
    if (shared[c]) alike.push(i);
  }
  return { depth, frame, alike };
}

// readMoments reads the samples, which it puts into the order of their times. Those of a bin lie
// side by side in it.
function readMoments(input, p) {
  const { moments: n, bin: size, weighed, labels } = p.head;
  const first = Float64Array.from(labels, () => input.next()), counts = new Uint32Array(p.rowLabels.length);
  p.head.events.forEach(({ counted }, e) => {
    const { from, to, values } = p.events[e];
    for (let i = from; i < to; i++) counts[i] = counted ? values[0][i - from] : input.next();
  });
  const bins = new Float64Array(n), rows = new Uint32Array(n);
  for (let r = 0, i = 0; r < counts.length; r++) {
    for (let bin = first[p.rowLabels[r]], end = i + counts[r]; i < end; i++) {
      bins[i] = bin += input.next();
      rows[i] = r;
    }
  }
  const order = orderByBin(bins), out = { time: new Float64Array(n), row: new Uint32Array(n) };
  for (let i = 0; i < n;) {
    let end = i + 1;
    while (end < n && bins[order[end]] === bins[order[i]]) end++;
    for (let k = i; k < end; k++) {
      out.row[k] = rows[order[k]];
      out.time[k] = Math.floor((bins[order[k]] + (k - i) / (end - i)) * size);
    }
    i = end;
  }
  if (weighed) {
    const values = new Float64Array(n);
    for (let i = 0; i < n; i++) values[i] = input.nextSigned();
    out.value = new Float64Array(n);
    for (let i = 0; i < n; i++) out.value[i] = values[order[i]];
  }
  return out;
}

// orderByBin is the numbers of samples by their bins, and of one bin in the order that they are
// in: they are sorted by 16 bits after the other, from the lowest on.
function orderByBin(bins) {
  const digits = 1 << 16, n = bins.length, digit = new Uint16Array(n), at = new Uint32Array(digits + 1);
  let order = new Uint32Array(n), next = new Uint32Array(n), most = 0;
  for (let i = 0; i < n; i++) {
    order[i] = i;
    if (bins[i] > most) most = bins[i];
  }
  for (let scale = 1; scale <= most; scale *= digits) {
    at.fill(0);
    for (let i = 0; i < n; i++) {
      const high = Math.floor(bins[order[i]] / scale);
      at[(digit[i] = high - Math.floor(high / digits) * digits) + 1]++;
    }
    for (let d = 0; d < digits; d++) at[d + 1] += at[d];
    for (let i = 0; i < n; i++) next[at[digit[i]]++] = order[i];
    [order, next] = [next, order];
  }
  return order;
}

function readEvent(input, p, e, from, rowNode) {
  const to = from + e.rows;
  for (let i = from, node = 0; i < to; i++) rowNode[i] = node += input.next();
  for (let i = from; i < to; i++) p.rowLabels[i] = input.next();
  const values = [];
  for (const column of e.columns) {
    const v = new Float64Array(e.rows);
    if (column.factor) {
      for (let i = 0; i < v.length; i++) v[i] = values[0][i] * column.factor;
    } else {
      for (let i = 0; i < v.length; i++) v[i] = input.nextSigned();
    }
    values.push(v);
  }
  return { name: e.name, columns: e.columns, spans: e.spans, instants: e.instants, from, to, values };
}

function readFunctions(input, n) {
  const sums = { self: new Float64Array(n), total: new Float64Array(n), some: new Uint8Array(n) };
  for (let left = input.next(); left > 0; left--) {
    const name = input.next();
    sums.some[name] = 1;
    sums.self[name] = input.nextSigned();
    sums.total[name] = input.nextSigned();
  }
  return sums;
}
