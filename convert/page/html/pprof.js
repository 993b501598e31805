// What is selected as a pprof profile: proto/profile.proto of github.com/google/pprof.
// A location has no address, as a page has none: it is one function of one mapping.

// Message writes fields of a protocol buffer; those that are 0 are left out.
class Message extends ByteWriter {
  number(field, v) {
    if (v) {
      this.varint(field * 8);
      this.varint(v);
    }
    return this;
  }

  block(field, bytes) {
    this.varint(field * 8 + 2);
    this.varint(bytes.length);
    this.append(bytes);
    return this;
  }

  message(field, m) { return this.block(field, m.written()); }

  // clear makes it an empty message.
  clear() {
    this.length = 0;
    return this;
  }

  packed(field, numbers) {
    packedList.length = 0;
    for (let i = 0; i < numbers.length; i++) packedList.varint(numbers[i]);
    return this.message(field, packedList);
  }
}

const packedList = new ByteWriter(); // of Message.packed

// pprofOf is the profile, not compressed, a Blob. A sample has zeros in the columns of other events. Of a
// comparison it is as pprof -diff_base has it, and kprof diff writes it: what the base has is
// negative, with the label pprof::base.
function* pprofOf(app) {
  const { p, state } = app, out = new Message(true), { tree, events } = yield* selectRows(app);
  const strings = new Numbering(), frames = [], mappings = new Numbering();
  const locationOf = new Uint32Array(p.frameName.length); // number of the location of each frame, 0 for none yet
  strings.id('');
  const compared = Boolean(p.head.compare);
  const columns = compared ? [{ type: p.events[0].name, unit: p.events[0].columns[newColumn].unit }] : p.events.flatMap((e) => e.columns);
  for (const { type, unit } of columns) out.message(1, new Message().number(1, strings.id(type)).number(2, strings.id(unit)));

  const labels = labelWriter(p, strings), values = new Array(columns.length).fill(0);
  const sample = new Message(), stack = [];
  const ofBase = compared ? new Message().message(3, new Message().number(1, strings.id('pprof::base')).number(2, strings.id('true'))).written() : [];
  let first = 0; // column of the event
  for (const [e, event] of p.events.entries()) {
    yield* eachRow([events[e]], (row) => {
      stack.length = 0;
      for (let node = tree.rowNode[row]; node !== 0; node = tree.parent[node]) {
        const frame = tree.frame[node];
        stack.push(locationOf[frame] ||= frames.push(frame));
      }
      const write = (more) => {
        sample.clear().packed(1, stack).packed(2, values).append(labels(p.rowLabels[row]));
        sample.append(more);
        out.message(2, sample);
      };
      if (compared) {
        for (const { column, sign, more } of [{ column: newColumn, sign: 1, more: [] }, { column: baseColumn, sign: -1, more: ofBase }]) {
          values[0] = sign * events[e].values[column][row - event.from];
          if (values[0]) write(more);
        }
        return;
      }
      events[e].values.forEach((v, c) => { values[first + c] = v[row - event.from]; });
      write([]);
    });
    values.fill(0);
    first += event.columns.length;
  }

  const locations = new Message(), functions = new Message();
  for (const [i, frame] of frames.entries()) {
    const mapping = p.frameMapping[frame] < 0 ? 0 : mappings.id(p.frameMapping[frame]) + 1;
    locations.message(4, new Message().number(1, i + 1).number(2, mapping).message(4, new Message().number(1, i + 1)));
    const text = p.names[p.frameName[frame]], name = strings.id(text);
    functions.message(5, new Message().number(1, i + 1).number(2, name).number(3, shortened(text) ? 0 : name)
      .number(4, strings.id(p.head.files[p.frameFile[frame]])).number(5, p.frameLine[frame]));
    if (i % 1000 === 999) yield;
  }
  mappings.all.forEach((mapping, i) => out.message(3, new Message().number(1, i + 1)
    .number(5, strings.id(p.head.mappings[mapping])).number(6, strings.id(p.head.buildids[mapping])).number(7, 1)));
  out.append(locations.written());
  out.append(functions.written());
  const comments = selectedComments(app).map((text) => strings.id(text));
  const shownType = strings.id(compared ? columns[0].type : p.events[state.event].columns[state.column].type);
  const encoder = new TextEncoder();
  yield* slices(0, strings.all.length, (i, to) => { for (; i < to; i++) out.block(6, encoder.encode(strings.all[i])); });
  const { start, duration } = selectedTime(app);
  out.number(9, start).number(10, duration);
  if (comments.length) out.packed(13, comments);
  return out.number(14, shownType).blob();
}

// shortened tells whether pprof may leave out what a name has in brackets, where it is what the
// linker calls the function too: see convert/pprof.
function shortened(name) { return /[<(]/.test(name) && /[<>[\]]|::/.test(name); }

// labelWriter returns the fields of a list of labels. Values of a key that all are whole numbers
// with one unit are written as such, with the key as the unit where there is none: readers take a
// 0 without a unit for no label.
function labelWriter(p, strings) {
  const { keys, values, labels } = p.head, known = new Map();
  const whole = values.map((texts) => {
    const all = texts.map((text) => /^(0|-?[1-9]\d{0,14})(?: (\S+))?$/.exec(text));
    return all.every((m) => m && m[2] === all[0][2]) ? all : null;
  });
  return (list) => {
    if (!known.has(list)) {
      const fields = new Message(), all = labels[list];
      for (let i = 0; i < all.length; i += 2) {
        const [key, value] = [all[i], all[i + 1]], label = new Message().number(1, strings.id(keys[key]));
        if (whole[key]) label.number(3, Number(whole[key][value][1])).number(4, strings.id(whole[key][value][2] ?? keys[key]));
        else label.number(2, strings.id(values[key][value]));
        fields.message(3, label);
      }
      known.set(list, fields.written());
    }
    return known.get(list);
  };
}
