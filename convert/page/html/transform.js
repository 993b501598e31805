// What is done to stacks before they are shown: a list of steps {op, text}, as kprof's
// convert/transform does them; text is a regular expression on names, or a mapping.

/** @typedef {{ op: string, text: string }} Step */

const ops = ['focus', 'ignore', 'show-from', 'show-to', 'hide', 'show', 'collapse-recursion', 'collapse'];
const kernelMapping = '[kernel]';

// addCollapsedFrames fills in the frames that stand for all of a mapping, and for the kernel.
/** @type {(p: Profile) => void} */
function addCollapsedFrames(p) {
  const names = new Map(p.names.map((name, i) => [name, i]));
  const nameOf = (name) => {
    if (!names.has(name)) names.set(name, p.names.push(name) - 1);
    return names.get(name);
  };
  const kinds = new Map();
  for (let f = 0; f < p.ownFrames; f++) if (!kinds.has(p.frameMapping[f])) kinds.set(p.frameMapping[f], p.frameKind[f]);
  p.head.mappings.forEach((mapping, i) => {
    p.frameName[p.ownFrames + i] = nameOf(mapping.startsWith('[') ? mapping : `[${mapping}]`);
    p.frameKind[p.ownFrames + i] = kinds.get(i) ?? unknownKind;
  });
  const kernel = p.frameName.length - 1;
  p.frameName[kernel] = nameOf(kernelMapping);
  p.frameKind[kernel] = kernelKind;

  // Frames are told apart by their places: name, mapping, and whether they are the kernel's.
  const places = new Map(), all = p.head.mappings.length + 1;
  p.framePlace = Uint32Array.from(p.frameName, (name, f) => {
    const key = (name * all + p.frameMapping[f] + 1) * 2 + p.frameKernel[f];
    if (!places.has(key)) places.set(key, places.size);
    return places.get(key);
  });
  p.placesAreNames = places.size === new Set(p.frameName).size; // so that none are to be made one
}

// exactly is the regular expression of one name. What is not UTF-8 of it reads as one U+FFFD.
function exactly(name) {
  const text = name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&').replace(/[\u0000-\u001f\u007f]/g,
    (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`).replaceAll('\ufffd', '\ufffd+');
  return `^${text}$`;
}

// nameOfExactly is the name that a regular expression is exactly of, else undefined.
function nameOfExactly(text) {
  const name = text.slice(1, -1).replace(/\\([^x])/g, '$1').replaceAll('\ufffd+', '\ufffd');
  return exactly(name) === text ? name : undefined;
}

// compileStep returns the regular expression that a step's text means, null for what is none.
// Of what Go has before it, "(?i:…)" around all is known.
function compileStep(text) {
  const blind = /^\(\?i:(.*)\)$/s.exec(text);
  for (const flags of ['u', '']) {
    try {
      return new RegExp(blind ? blind[1] : text, flags + (blind ? 'i' : ''));
    } catch { /* perhaps it is one without u */ }
  }
  return null;
}

// stepsDone does the steps to the profile's tree in which frames are told apart by what holds
// them; transformTree to the one that is shown.
function* stepsDone(p, steps) {
  let t = p.full;
  for (const { op, text } of steps) t = yield* op === 'collapse' ? collapseMapping(p, t, text) : transformByName(p, t, op, compileStep(text));
  return t;
}

/** @type {(p: Profile, steps: Step[]) => Generator<void, Stacks>} */
function* transformTree(p, steps) {
  const t = yield* stepsDone(p, steps);
  return p.tree === p.full && p.placesAreNames ? t : yield* mergeByName(p, t);
}

function* transformByName(p, t, op, expression) {
  if (!expression) return t;
  const matches = Uint8Array.from(p.names, (name) => expression.test(name) ? 1 : 0);
  const { parent, frame } = t, n = parent.length;
  const hits = Uint8Array.from(p.frameName, (name) => matches[name]); // of each frame
  const to = new Uint32Array(n), each = (body) => slices(1, n, (i, end) => { for (; i < end; i++) body(i); });
  if (op === 'focus' || op === 'ignore') {
    const wanted = op === 'focus' ? 1 : 0, has = new Uint8Array(n);
    yield* each((i) => {
      has[i] = has[parent[i]] | hits[frame[i]];
      to[i] = has[i] === wanted ? i : noNode;
    });
    if (wanted) to[0] = noNode;
    return { ...t, rowNode: yield* movedRows(t, to) };
  }
  if (op === 'show-to') {
    to[0] = noNode;
    yield* each((i) => { to[i] = hits[frame[i]] ? i : to[parent[i]]; });
    return { ...t, rowNode: yield* movedRows(t, to) };
  }
  if (op === 'hide' || op === 'show') return yield* withoutNodes(p, t, (f) => hits[f] === (op === 'hide' ? 1 : 0));
  const table = new NodeTable(p, n);
  if (op === 'show-from') {
    to[0] = noNode;
    yield* each((i) => {
      const up = to[parent[i]];
      to[i] = up !== noNode ? table.child(up, frame[i]) : hits[frame[i]] ? table.child(0, frame[i]) : noNode;
    });
  } else {
    yield* each((i) => {
      const up = to[parent[i]];
      to[i] = hits[frame[i]] && table.above(up, frame[i]) || table.child(up, frame[i]);
    });
  }
  return { ...yield* table.tree(), rowNode: yield* movedRows(t, to) };
}

// withoutNodes takes out the nodes of some frames, all of each name: what is below them comes
// to be below their parents. Only there can two nodes become one.
function* withoutNodes(p, t, isOut) {
  const { parent, frame } = t, n = parent.length, to = new Uint32Array(n);
  const out = Uint8Array.from(p.frameName, (_, f) => isOut(f) ? 1 : 0);
  const mixed = new Uint8Array(n), under = new Uint8Array(n); // nodes of t with children out; made nodes
  yield* slices(1, n, (i, end) => { for (; i < end; i++) if (out[frame[i]]) mixed[parent[i]] = 1; });
  const table = new NodeTable(p, n), again = new Uint8Array(n);
  under[0] = mixed[0];
  yield* slices(1, n, (i, end) => {
    for (; i < end; i++) {
      const up = to[parent[i]];
      if (out[frame[i]]) {
        to[i] = up;
        continue;
      }
      const before = table.count, node = to[i] = under[up] ? table.child(up, frame[i]) : table.push(up, frame[i]);
      if (node === before) again[node] = t.again[i]; // names above are there as before, or not at all
      if (under[up] || mixed[i]) under[node] = 1;
    }
  });
  return { ...table.columns(), again: again.subarray(0, table.count), rowNode: yield* movedRows(t, to) };
}

// collapseMapping makes one node of those below each other that are in a mapping.
function* collapseMapping(p, t, mapping) {
  const at = p.head.mappings.indexOf(mapping), n = t.parent.length;
  const kernel = mapping === kernelMapping;
  const inside = (f) => kernel ? p.frameKernel[f] : at >= 0 && p.frameMapping[f] === at;
  const frame = p.ownFrames + (kernel ? p.head.mappings.length : at);
  const table = new NodeTable(p, n), to = new Uint32Array(n), within = new Uint8Array(n);
  yield* slices(1, n, (i, end) => {
    for (; i < end; i++) {
      const parent = t.parent[i];
      within[i] = inside(t.frame[i]) ? 1 : 0;
      to[i] = !within[i] ? table.child(to[parent], t.frame[i]) : within[parent] ? to[parent] : table.child(to[parent], frame);
    }
  });
  return { ...yield* table.tree(), rowNode: yield* movedRows(t, to) };
}

// NodeTable makes a tree of at most n nodes, whose children are told apart by place.
class NodeTable {
  constructor(p, n) {
    this.p = p;
    this.parent = new Uint32Array(n);
    this.depth = new Uint32Array(n);
    this.frame = new Uint32Array(n);
    this.count = 1;
    let size = 1024;
    while (size < 2 * n) size *= 2;
    this.slots = new Uint32Array(size); // nodes; 0 marks an empty one
  }

  child(node, frame) {
    const place = this.p.framePlace[frame], mask = this.slots.length - 1;
    let h = Math.imul(Math.imul(node, 0x9e3779b1) ^ place, 0x85ebca6b);
    h ^= h >>> 15;
    for (let i = h & mask; ; i = (i + 1) & mask) {
      const c = this.slots[i];
      if (c === 0) {
        this.slots[i] = this.count;
        return this.push(node, frame);
      }
      if (this.parent[c] === node && this.p.framePlace[this.frame[c]] === place) return c;
    }
  }

  // push adds a child that no other can be equal to.
  push(node, frame) {
    this.parent[this.count] = node;
    this.depth[this.count] = this.depth[node] + 1;
    this.frame[this.count] = frame;
    return this.count++;
  }

  // above is the node with that frame's name, from a node up to the root, 0 if there is none.
  above(node, frame) {
    const { frameName } = this.p;
    while (node !== 0 && frameName[this.frame[node]] !== frameName[frame]) node = this.parent[node];
    return node;
  }

  * tree() {
    const n = this.count, again = new Uint8Array(n);
    yield* slices(1, n, (i, to) => { for (; i < to; i++) again[i] = this.above(this.parent[i], this.frame[i]) ? 1 : 0; });
    return { ...this.columns(), again };
  }

  columns() {
    const n = this.count;
    return { parent: this.parent.subarray(0, n), depth: this.depth.subarray(0, n), frame: this.frame.subarray(0, n) };
  }
}

// stepText is what a chip says of a step.
function stepText({ op, text }) {
  const name = op === 'collapse' ? text : nameOfExactly(text) ?? text;
  const words = {
    focus: 'with', ignore: 'without', 'show-from': 'from', 'show-to': 'up to', hide: 'merged', show: 'only',
    'collapse-recursion': 'recursion', collapse: 'collapsed',
  };
  return `${words[op]}: ${shown(name)}`;
}
