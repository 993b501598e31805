// What is selected as a page of its own: this page as it came, with other data, which has the
// layout of data.js and names nothing that is not selected.

// blankPage is the page as it came, without its data and its title. It is taken before
// anything changes.
function blankPage() {
  const filled = ['title', 'h1', '#data'].map((selector) => document.querySelector(selector));
  const texts = filled.map((e) => e.textContent);
  for (const e of filled) e.textContent = '';
  const page = `<!doctype html>\n${document.documentElement.outerHTML}`;
  filled.forEach((e, i) => { e.textContent = texts[i]; });
  return page;
}

// pageOf is a Blob of a page with a title and data.
async function pageOf(blank, title, data) {
  const packed = new Uint8Array(await (await compress(data)).arrayBuffer());
  const text = title.replace(/[&<>]/g, (c) => `&#${c.charCodeAt(0)};`);
  const [head, tail] = splitAfter(blank, 'id="data">');
  const [before, between] = splitAfter(head, '<title>'), [inner, after] = splitAfter(between, '<h1>');
  return new Blob([before.replace("; connect-src 'self'", ''), text, inner, text, after, ...await inSlices(base64(packed)), tail], { type: 'text/html' });
}

function splitAfter(text, mark) {
  const at = text.indexOf(mark) + mark.length;
  return [text.slice(0, at), text.slice(at)];
}

const base64Part = 3 << 13; // bytes, which are whole letters

// base64 is the parts of a text.
function* base64(bytes) {
  const parts = [];
  for (let i = 0; i < bytes.length; i += base64Part) {
    parts.push(btoa(String.fromCharCode(...bytes.subarray(i, i + base64Part))));
    yield;
  }
  return parts;
}

// selectedData is the data of what is selected, not compressed, with a title: a Blob.
function* selectedData(app, title) {
  const { p, state } = app, { tree, events } = yield* selectRows(app);
  const nodes = yield* preorder(tree, events);
  const used = yield* usedParts(p, tree, nodes.order);
  const labels = yield* usedLabels(p, events);
  const rowOf = new Uint32Array(p.rowLabels.length).fill(noNode); // number of each row that is kept
  const body = new ByteWriter(true);
  yield* writeTree(body, tree, nodes.order, used.frames);
  let first = 0;
  for (const [e, event] of p.events.entries()) {
    const { values } = events[e], rows = yield* inOrderOf(nodes, tree, events[e].rows);
    const each = (body) => eachRow([{ rows }], body);
    let last = 0;
    yield* each((row) => {
      const node = nodes.to[tree.rowNode[row]];
      body.varint(node - last);
      last = node;
      rowOf[row] = first++;
    });
    yield* each((row) => body.varint(labels.lists.id(p.rowLabels[row])));
    for (const column of values) yield* each((row) => body.zigzag(column[row - event.from]));
  }
  const { moments, clock } = yield* writeMoments(body, app, rowOf, first, labels.lists.all);
  const { start, duration } = selectedTime(app);
  const head = {
    ...p.head, title, tabs: [], tab: 0, links: [], live: 0, start: Math.floor(start / 1e6), duration, comments: selectedComments(app),
    events: p.events.map((event, e) => ({ name: event.name, columns: event.columns.map((c) => ({ ...c, factor: 0 })), rows: events[e].rows.length, counted: false, spans: event.spans, instants: event.instants })),
    event: state.event, column: state.column, ...used.head, ...labels.head, nodes: nodes.order.length, cut: false, moments, clock,
    select: { command: [], given: [], inputs: [], flags: {}, labels: {} }, compare: selectedChanges(app, used.head.names),
  };
  const out = new ByteWriter(), text = new TextEncoder().encode(JSON.stringify(head));
  out.varint(text.length);
  out.append(text);
  return new Blob([out.written(), body.blob()]);
}

// selectedChanges is what a page of a part of a comparison says of it, null of what is none. The
// intervals are those of all that was compared.
function selectedChanges({ p, state }, names) {
  const { compare } = p.head, known = new Set(names);
  if (!compare || !hashOf(p, { ...firstState(p), filter: state.filter, steps: state.steps })) return compare;
  return { ...compare, verdict: 'A part of what was compared; verdicts are of all of it.', rows: compare.rows.filter((r) => known.has(r.function)) };
}

// preorder is the nodes that lead to those of rows, each before its children and these together:
// {order, to}: the nodes, and where in them each is.
function* preorder(tree, events) {
  const n = tree.parent.length, wanted = new Uint8Array(n), child = new Uint32Array(n), next = new Uint32Array(n);
  wanted[0] = 1;
  let count = 1;
  yield* eachRow(events, (row) => { for (let node = tree.rowNode[row]; !wanted[node]; node = tree.parent[node], count++) wanted[node] = 1; });
  yield* slices(0, n - 1, (from, to) => {
    for (let i = n - 1 - from; i > n - 1 - to; i--) {
      if (!wanted[i]) continue;
      next[i] = child[tree.parent[i]];
      child[tree.parent[i]] = i;
    }
  });
  const order = new Uint32Array(count), to = new Uint32Array(n);
  let node = 0;
  yield* slices(0, count, (i, end) => {
    for (; i < end; i++) {
      order[i] = node;
      to[node] = i;
      if (child[node]) node = child[node];
      else {
        while (node && !next[node]) node = tree.parent[node];
        node = next[node];
      }
    }
  });
  return { order, to };
}

// inOrderOf is rows of one event in the order of their nodes.
function* inOrderOf(nodes, tree, rows) {
  const node = new Uint32Array(rows.length);
  yield* slices(0, rows.length, (i, to) => { for (; i < to; i++) node[i] = nodes.to[tree.rowNode[rows[i]]]; });
  const order = yield* rowsByNode({ parent: nodes.order, rowNode: node });
  yield* slices(0, order.length, (i, to) => { for (; i < to; i++) order[i] = rows[order[i]]; });
  return order;
}

// usedParts are the frames of nodes, and the names, mappings and files of these, as the head of
// a page has them.
function* usedParts(p, tree, order) {
  const frames = new Numbering(), names = new Numbering(), mappings = new Numbering(), files = new Numbering();
  files.id(0);
  yield* slices(1, order.length, (i, to) => { for (; i < to; i++) frames.id(tree.frame[order[i]]); });
  const list = frames.all.flatMap((f) => [names.id(p.frameName[f]), p.frameKind[f],
    p.frameMapping[f] < 0 ? -1 : mappings.id(p.frameMapping[f]), files.id(p.frameFile[f]), p.frameLine[f], p.frameKernel[f]]);
  const { mappings: files0, buildids, files: paths } = p.head;
  return {
    frames, head: {
      frames: list, names: names.all.map((i) => p.names[i]), files: files.all.map((i) => paths[i]),
      mappings: mappings.all.map((i) => files0[i]), buildids: mappings.all.map((i) => buildids[i]),
    },
  };
}

// usedLabels are the lists of labels of rows, and their keys and values, likewise.
function* usedLabels(p, events) {
  const lists = new Numbering(), keys = new Numbering(), values = [];
  yield* eachRow(events, (row) => lists.id(p.rowLabels[row]));
  const labels = lists.all.map((list) => {
    const out = [], all = p.head.labels[list];
    for (let i = 0; i < all.length; i += 2) {
      const key = keys.id(all[i]);
      values[key] ??= new Numbering();
      out.push(key, values[key].id(all[i + 1]));
    }
    return out;
  });
  return { lists, head: { labels, keys: keys.all.map((k) => p.head.keys[k]), values: keys.all.map((k, i) => values[i].all.map((v) => p.head.values[k][v])) } };
}

// writeTree writes the callees of frames, and the nodes.
function* writeTree(body, tree, order, frames) {
  const callees = Array.from({ length: frames.all.length + 1 }, () => new Numbering());
  const path = [frames.all.length], ranks = new Uint32Array(order.length); // frames from the root to the node before
  const each = (body) => slices(1, order.length, (i, to) => { for (; i < to; i++) body(i); });
  yield* each((i) => {
    const node = order[i], depth = tree.depth[node], frame = frames.id(tree.frame[node]);
    ranks[i] = callees[path[depth - 1]].id(frame);
    path[depth] = frame;
  });
  for (const { all } of callees) for (const n of [all.length, ...all]) body.varint(n);
  let last = 0;
  yield* each((i) => {
    const depth = tree.depth[order[i]];
    body.varint(last + 1 - depth);
    last = depth;
  });
  yield* each((i) => body.varint(ranks[i]));
}

// writeMoments writes the samples of rows that are kept, in the span of time and the range of
// values; it returns how many, and the clock of the first.
function* writeMoments(body, { p, state: { event, span, sizes } }, rowOf, rows, lists) {
  if (!p.moments) return { moments: 0, clock: p.head.clock };
  const { time, row, value } = p.moments, { bin: size } = p.head, inSizes = sizeTest(p, p.events[event], sizes);
  const [from, to] = span ? momentsIn(p, span) : [0, time.length];
  const ofMoment = new Uint32Array(to - from).fill(noNode); // the row that each is of
  const first = new Map(), counts = new Uint32Array(rows);
  let origin = -1;
  const binOf = (i) => Math.floor(time[i] / size) - origin;
  yield* slices(from, to, (i, end) => {
    for (; i < end; i++) {
      const r = rowOf[row[i]], labels = p.rowLabels[row[i]];
      if (r === noNode || !inSizes(i)) continue;
      if (origin < 0) origin = Math.floor(time[i] / size);
      if (!first.has(labels)) first.set(labels, binOf(i));
      ofMoment[i - from] = r;
      counts[r]++;
    }
  });
  const order = yield* rowsByNode({ parent: counts, rowNode: ofMoment }), each = (body) => slices(0, order.length, (i, end) => { for (; i < end; i++) body(from + order[i]); });
  if (order.length) {
    for (const list of lists) body.varint(first.get(list) ?? 0);
    yield* slices(0, rows, (i, end) => { for (; i < end; i++) body.varint(counts[i]); });
    let last = 0, of = noNode;
    yield* each((i) => {
      if (row[i] !== of) last = first.get(p.rowLabels[of = row[i]]);
      body.varint(binOf(i) - last);
      last = binOf(i);
    });
    if (value) yield* each((i) => body.zigzag(value[i]));
  }
  return { moments: order.length, clock: String(BigInt(p.head.clock) + BigInt(Math.max(origin, 0) * size)) };
}
