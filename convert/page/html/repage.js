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
  const text = title.replace(/[&<>]/g, (c) => `&#${c.charCodeAt(0)};`);
  const [head, tail] = splitAfter(blank, 'id="data">');
  const [before, between] = splitAfter(head, '<title>'), [inner, after] = splitAfter(between, '<h1>');
  return new Blob([before.replace("; connect-src 'self'", ''), text, inner, text, after, base64(await compress(data)), tail], { type: 'text/html' });
}

function splitAfter(text, mark) {
  const at = text.indexOf(mark) + mark.length;
  return [text.slice(0, at), text.slice(at)];
}

function base64(bytes) {
  if (bytes.toBase64) return bytes.toBase64();
  let text = '';
  for (let i = 0; i < bytes.length; i += 1 << 14) text += String.fromCharCode(...bytes.subarray(i, i + (1 << 14)));
  return btoa(text);
}

// selectedData is the data of what is selected, not compressed, with a title.
function selectedData(app, title) {
  const { p, state } = app, { tree, events } = selectRows(app);
  const nodes = preorder(tree, events.flatMap((e) => e.rows).map((row) => tree.rowNode[row]));
  const used = usedParts(p, tree, nodes.order);
  const labels = usedLabels(p, events.flatMap((e) => e.rows));
  const rowOf = new Uint32Array(p.rowLabels.length).fill(noNode); // number of each row that is kept
  const body = new ByteWriter();
  writeTree(body, tree, nodes.order, used.frames);
  let first = 0;
  p.events.forEach((event, e) => {
    const { values } = events[e], rows = events[e].rows.sort((a, b) => nodes.to[tree.rowNode[a]] - nodes.to[tree.rowNode[b]]);
    let last = 0;
    for (const row of rows) {
      const node = nodes.to[tree.rowNode[row]];
      body.varint(node - last);
      last = node;
      rowOf[row] = first++;
    }
    for (const row of rows) body.varint(labels.lists.id(p.rowLabels[row]));
    for (const column of values) for (const row of rows) body.zigzag(column[row - event.from]);
  });
  const { moments, clock } = writeMoments(body, app, rowOf, first, labels.lists.all);
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
  out.append(body.written());
  return out.written();
}

// selectedChanges is what a page of a part of a comparison says of it, null of what is none. The
// intervals are those of all that was compared.
function selectedChanges({ p, state }, names) {
  const { compare } = p.head, known = new Set(names);
  if (!compare || !hashOf(p, { ...firstState(p), filter: state.filter, steps: state.steps })) return compare;
  return { ...compare, verdict: 'A part of what was compared; verdicts are of all of it.', rows: compare.rows.filter((r) => known.has(r.function)) };
}

// preorder is the nodes that lead to some, each before its children and these together:
// {order, to}: the nodes, and where in them each is.
function preorder(tree, leaves) {
  const n = tree.parent.length, wanted = new Uint8Array(n), child = new Uint32Array(n), next = new Uint32Array(n);
  wanted[0] = 1;
  let count = 1;
  for (let node of leaves) for (; !wanted[node]; node = tree.parent[node], count++) wanted[node] = 1;
  for (let i = n - 1; i > 0; i--) {
    if (!wanted[i]) continue;
    next[i] = child[tree.parent[i]];
    child[tree.parent[i]] = i;
  }
  const order = new Uint32Array(count), to = new Uint32Array(n);
  for (let node = 0, i = 0; i < count; i++) {
    order[i] = node;
    to[node] = i;
    if (child[node]) node = child[node];
    else {
      while (node && !next[node]) node = tree.parent[node];
      node = next[node];
    }
  }
  return { order, to };
}

// usedParts are the frames of nodes, and the names, mappings and files of these, as the head of
// a page has them.
function usedParts(p, tree, order) {
  const frames = new Numbering(), names = new Numbering(), mappings = new Numbering(), files = new Numbering();
  files.id(0);
  for (const node of order.subarray(1)) frames.id(tree.frame[node]);
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
function usedLabels(p, rows) {
  const lists = new Numbering(), keys = new Numbering(), values = [];
  for (const row of rows) lists.id(p.rowLabels[row]);
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
function writeTree(body, tree, order, frames) {
  const callees = Array.from({ length: frames.all.length + 1 }, () => new Numbering());
  const path = [frames.all.length], ranks = []; // frames from the root to the node before
  for (const node of order.subarray(1)) {
    const depth = tree.depth[node], frame = frames.id(tree.frame[node]);
    ranks.push(callees[path[depth - 1]].id(frame));
    path[depth] = frame;
  }
  for (const { all } of callees) for (const n of [all.length, ...all]) body.varint(n);
  for (let i = 1, last = 0; i < order.length; i++) {
    const depth = tree.depth[order[i]];
    body.varint(last + 1 - depth);
    last = depth;
  }
  for (const rank of ranks) body.varint(rank);
}

// writeMoments writes the samples of rows that are kept, in the span of time and the range of
// values; it returns how many, and the clock of the first.
function writeMoments(body, { p, state: { event, span, sizes } }, rowOf, rows, lists) {
  if (!p.moments) return { moments: 0, clock: p.head.clock };
  const { time, row, value } = p.moments, { bin: size } = p.head, kept = [], inSizes = sizeTest(p, p.events[event], sizes);
  const [from, to] = span ? momentsIn(p, span) : [0, time.length];
  for (let i = from; i < to; i++) if (rowOf[row[i]] !== noNode && inSizes(i)) kept.push(i);
  const origin = kept.length ? Math.floor(time[kept[0]] / size) : 0, binOf = (i) => Math.floor(time[i] / size) - origin;
  const first = new Map(), ofRow = Array.from({ length: rows }, () => []);
  for (const i of kept) {
    const labels = p.rowLabels[row[i]];
    if (!first.has(labels)) first.set(labels, binOf(i));
    ofRow[rowOf[row[i]]].push(i);
  }
  if (kept.length) {
    for (const list of lists) body.varint(first.get(list) ?? 0);
    for (const all of ofRow) body.varint(all.length);
    for (const all of ofRow) {
      let last = all.length ? first.get(p.rowLabels[row[all[0]]]) : 0;
      for (const i of all) {
        body.varint(binOf(i) - last);
        last = binOf(i);
      }
    }
    if (value) for (const all of ofRow) for (const i of all) body.zigzag(value[i]);
  }
  return { moments: kept.length, clock: String(BigInt(p.head.clock) + BigInt(origin * size)) };
}
