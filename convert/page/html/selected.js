// What is selected, as a profile: rows that the filters let pass, with the stacks that the
// steps leave.

const maxInt64 = 2 ** 63 - 1024; // the largest that a Number holds

// toInt64 is a value rounded to what 64 bits with a sign hold; a Number may be a bit above.
function toInt64(v) { return Math.max(-maxInt64, Math.min(Math.round(v), maxInt64)); }

// selectRows returns {tree, events}: a tree in which frames are told apart by what holds them,
// and for each event {rows, values}: numbers of rows, and by column whole values of all rows of
// the event. A range of values selects from its event alone, and leaves the others out. Like what
// else is made to be saved, it is a generator, see slices.js.
function* selectRows(app) {
  const { p, state } = app, mask = app.mask(), tree = yield* stepsDone(p, state.steps), events = [];
  for (const [e, event] of p.events.entries()) {
    const { from } = event, all = state.sizes && e !== state.event ? 0 : event.to - from;
    const values = event.columns.map(() => new Float64Array(all)), rows = new Uint32Array(all);
    if (all) {
      for (const [c, whole] of values.entries()) {
        const exact = yield* spanValues(p, event, c, state.span, state.sizes);
        yield* slices(0, all, (i, to) => { for (; i < to; i++) whole[i] = toInt64(exact[i]); });
      }
    }
    let n = 0;
    yield* slices(0, all, (i, to) => {
      for (; i < to; i++) if (mask[p.rowLabels[from + i]] && tree.rowNode[from + i] !== noNode && values.some((v) => v[i])) rows[n++] = from + i;
    });
    events.push({ rows: rows.subarray(0, n), values });
  }
  return { tree, events };
}

const sliceRows = 1 << 11; // each of which takes longer than most steps of a loop

// eachRow calls body for all rows of events.
function* eachRow(events, body) {
  for (const { rows } of events) {
    for (let i = 0; i < rows.length; yield) for (const end = Math.min(i + sliceRows, rows.length); i < end; i++) body(rows[i]);
  }
}

// selectedTime is when what is selected began, Unix time in ns, and how long it lasted; 0 for
// what is not known.
function selectedTime({ p: { head, moments }, state: { span } }) {
  if (!span || !moments) return { start: head.start * 1e6, duration: head.duration };
  return { start: head.start ? head.start * 1e6 + span[0] : 0, duration: span[1] - span[0] };
}

// selectedComments are those of the profile, and which part of it is selected.
function selectedComments(app) {
  const state = { ...app.state, query: '' }, command = selectCommand(app.p, state), hash = hashOf(app.p, state);
  return [...app.p.head.comments, command ? `selected: ${command}` : hash ? `selected: ${hash}` : ''].filter(Boolean);
}

// Numbering gives what is used the numbers from 0 on, in order of first use.
class Numbering {
  constructor() {
    this.ids = new Map();
    this.all = [];
  }

  id(x) {
    let id = this.ids.get(x);
    if (id === undefined) {
      this.ids.set(x, id = this.all.length);
      this.all.push(x);
    }
    return id;
  }
}

const partSize = 1 << 20;

// ByteWriter appends to bytes, or to a Blob, whose parts are put away as they are written.
class ByteWriter {
  constructor(inParts = false) {
    this.parts = inParts ? [] : null;
    this.bytes = new Uint8Array(inParts ? partSize : 64);
    this.length = 0;
  }

  blob() { return new Blob([...this.parts, this.written()]); }

  room(n) {
    if (this.length + n <= this.bytes.length) return;
    if (this.parts) {
      this.parts.push(new Blob([this.written()]));
      this.length = 0;
      if (n <= this.bytes.length) return;
    }
    const bytes = new Uint8Array(2 * (this.length + n));
    bytes.set(this.written());
    this.bytes = bytes;
  }

  written() { return this.bytes.subarray(0, this.length); }

  append(bytes) {
    this.room(bytes.length);
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  // varint appends an integer, one below 0 as its two's complement of 64 bits.
  varint(v) {
    this.room(10);
    if (v < 0) {
      let rest = BigInt.asUintN(64, BigInt(v));
      for (; rest >= 128n; rest >>= 7n) this.bytes[this.length++] = Number(rest & 127n) | 128;
      v = Number(rest);
    }
    for (; v >= 128; v = Math.floor(v / 128)) this.bytes[this.length++] = v % 128 | 128;
    this.bytes[this.length++] = v;
  }

  // zigzag appends an integer as Varints.nextSigned reads it.
  zigzag(v) {
    if (Math.abs(v) <= Number.MAX_SAFE_INTEGER / 2) {
      this.varint(v < 0 ? -2 * v - 1 : 2 * v);
      return;
    }
    this.room(10);
    let rest = v < 0 ? -2n * BigInt(v) - 1n : 2n * BigInt(v);
    for (; rest >= 128n; rest >>= 7n) this.bytes[this.length++] = Number(rest & 127n) | 128;
    this.bytes[this.length++] = Number(rest);
  }
}

/** @type {(blob: Blob) => Promise<Blob>} */
function compress(blob) { return new Response(blob.stream().pipeThrough(new CompressionStream('gzip'))).blob(); }
