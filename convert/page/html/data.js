// Reading the block of data that the page carries. Its layout is described at
// pageHead in kprof's convert/page/data.go.

async function inflate(base64) {
  const packed = Uint8Array.fromBase64 ? Uint8Array.fromBase64(base64) : bytesOf(atob(base64));
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

// decodeProfile returns the profile:
//
//   head                     as JSON has it
//   names                    of frames
//   nameOf, nameText         number of a frame's name, and its text
//   frameName …              of each frame: name, kind, mapping, file, line, whether it is the
//                            kernel's; behind those of the profile, from ownFrames on, one
//                            for each mapping and one for the kernel, see transform.js
//   full, tree               all stacks, see tree.js: with frames told apart by what holds
//                            them, and by name only
//   events                   [{name, columns, from, to, values}]: rows from to to
//                            and, for each column, their values
//   rowLabels                of each row
//   functions                [event][column]: sums as of sumFunctions, where stacks
//                            are cut; else undefined
//   moments                  {time, row, value} of each sample, see time.js; undefined
//                            without times; value if they are no equal parts of rows
function decodeProfile(bytes) {
  const input = new Varints(bytes);
  const head = JSON.parse(input.text(input.next()));
  const p = { head, names: head.names };

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

  const depth = new Uint32Array(head.nodes);
  for (let i = 1; i < depth.length; i++) depth[i] = depth[i - 1] + 1 - input.next();
  const frame = new Uint32Array(head.nodes);
  for (let i = 1; i < frame.length; i++) frame[i] = input.next();

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
  p.tree = finish(mergeByName(p, p.full));

  if (head.cut) p.functions = p.events.map((e) => e.columns.map(() => readFunctions(input, p.names.length)));
  if (head.moments) {
    p.moments = { time: new Float64Array(head.moments), row: new Uint32Array(head.moments) };
    for (let i = 0, t = 0; i < head.moments; i++) p.moments.time[i] = t += input.next();
    for (let i = 0; i < head.moments; i++) p.moments.row[i] = input.next();
    if (head.weighed) {
      p.moments.value = new Float64Array(head.moments);
      for (let i = 0; i < head.moments; i++) p.moments.value[i] = input.nextSigned();
    }
  }

  // Values of labels are names too, of the frames that groupTree makes.
  p.groupNames = head.values.flat();
  p.nameOf = (f) => f < frames ? p.frameName[f] : p.names.length + f - frames;
  p.nameText = (name) => name < p.names.length ? p.names[name] : p.groupNames[name - p.names.length];
  return p;
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
  return { name: e.name, columns: e.columns, spans: e.spans, from, to, values };
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
