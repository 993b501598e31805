// What is selected, as a profile: rows that the filters let pass, with the stacks that the
// steps leave.

// selectRows returns {tree, events}: a tree in which frames are told apart by what holds them,
// and for each event {rows, values}: numbers of rows, and by column whole values of all rows of
// the event. A range of values selects from its event alone, and leaves the others out.
function selectRows(app) {
  const { p, state } = app, mask = app.mask(), tree = finish(stepsDone(p, state.steps));
  const events = p.events.map((event, e) => {
    if (state.sizes && e !== state.event) return { rows: [], values: event.columns.map(() => []) };
    const values = event.columns.map((_, c) => finish(spanValues(p, event, c, state.span, state.sizes)).map(Math.round));
    const rows = [];
    for (let i = event.from; i < event.to; i++) {
      if (mask[p.rowLabels[i]] && tree.rowNode[i] !== noNode && values.some((v) => v[i - event.from])) rows.push(i);
    }
    return { rows, values };
  });
  return { tree, events };
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

// ByteWriter appends to bytes.
class ByteWriter {
  constructor() {
    this.bytes = new Uint8Array(1 << 12);
    this.length = 0;
  }

  room(n) {
    if (this.length + n <= this.bytes.length) return;
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

async function compress(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
