// Trees of frames and the sums on them.
//
// What computes all of a tree is a generator, see slices.js.

/**
 * Tree is columns by node. Node 0 is the root and shows everything; a parent comes before its
 * children.
 * @typedef {object} Tree
 * @property {Uint32Array} parent
 * @property {Uint32Array} frame
 * @property {Uint32Array} [depth]
 * @property {Uint8Array} [again] 1 if a node above has the same name: a recursion, to be counted once
 * @property {boolean} [sorted] children are in the order of their names
 * @property {Uint32Array} [order] see orderOf
 * @property {{ at: Uint32Array, children: Uint32Array }} [byName] see childrenOf
 *
 * Stacks is a tree of stacks, with the node where each row's ends; noNode of rows that do not count.
 * @typedef {Tree & { depth: Uint32Array, again: Uint8Array, rowNode: Uint32Array }} Stacks
 *
 * Sums are what ends at each node, and what is at all below it too; width is total, or its sizes
 * where some are negative.
 * @typedef {{ tree: Tree, self: Float64Array, total: Float64Array, width: Float64Array }} Sums
 *
 * Functions are sums by name; some is 1 of those that have any.
 * @typedef {{ self: Float64Array, total: Float64Array, some: Uint8Array }} Functions
 */

const noNode = 0xffffffff;

/** @type {(p: Profile, depth: Uint32Array, frame: Uint32Array, rowNode: Uint32Array) => Stacks} */
function newTree(p, depth, frame, rowNode) {
  const n = depth.length;
  const parent = new Uint32Array(n);
  const again = new Uint8Array(n);
  const path = []; // nodes from the root to the one before
  const above = new Uint32Array(p.names.length); // how often each name is in path, below the root
  for (let i = 1; i < n; i++) {
    const d = depth[i];
    while (path.length >= d) above[p.frameName[frame[path.pop()]]]--;
    parent[i] = d > 1 ? path[d - 2] : 0;
    const name = p.frameName[frame[i]];
    again[i] = above[name]++ ? 1 : 0;
    path.push(i);
  }
  return { parent, depth, frame, again, rowNode };
}

// mergeByName makes one of the children of a node that have the same name.
/** @type {(p: Profile, t: Stacks) => Generator<void, Stacks>} */
function* mergeByName(p, t) {
  const n = t.parent.length, { parent, frame } = t, { frameName } = p;
  const at = new Uint32Array(n + 2); // of the children of each node
  yield* slices(1, n, (i, to) => { for (; i < to; i++) at[parent[i] + 2]++; });
  yield* slices(1, at.length, (i, to) => { for (; i < to; i++) at[i] += at[i - 1]; });
  const children = new Uint32Array(n);
  yield* slices(1, n, (i, to) => { for (; i < to; i++) children[at[parent[i] + 1]++] = i; });
  const stamp = new Uint32Array(p.names.length); // the node that a child of the name was made for, plus 1
  const made = new Uint32Array(p.names.length); // and which it is
  let same = false;
  yield* slices(0, n, (i, to) => {
    for (; i < to && !same; i++) {
      for (let c = at[i]; c < at[i + 1] && !same; c++) {
        const name = frameName[frame[children[c]]];
        same = stamp[name] === i + 1;
        stamp[name] = i + 1;
      }
    }
  });
  if (!same) return t;
  stamp.fill(0);
  const out = { parent: new Uint32Array(n), depth: new Uint32Array(n), frame: new Uint32Array(n), again: new Uint8Array(n) };
  const to = new Uint32Array(n);
  const first = new Uint32Array(n), last = new Uint32Array(n), next = new Uint32Array(n); // lists of what is made one
  let count = 1;
  const merge = (node) => {
    for (let one = first[node]; ; one = next[one]) {
      for (let c = at[one]; c < at[one + 1]; c++) {
        const child = children[c], name = frameName[frame[child]];
        if (stamp[name] === node + 1) {
          to[child] = made[name];
          next[last[made[name]]] = child;
          last[made[name]] = child;
          continue;
        }
        stamp[name] = node + 1;
        first[count] = last[count] = child;
        to[child] = made[name] = count;
        out.parent[count] = node;
        out.depth[count] = out.depth[node] + 1;
        out.frame[count] = frame[child];
        out.again[count++] = t.again[child];
      }
      if (one === last[node]) return;
    }
  };
  for (let node = 0; node < count;) {
    const end = Math.min(node + sliceSteps, count);
    yield* slices(node, end, (i, before) => { for (; i < before; i++) merge(i); });
    node = end;
  }
  for (const column of Object.keys(out)) out[column] = out[column].subarray(0, count);
  return { ...out, rowNode: yield* movedRows(t, to) };
}

// movedRows is where the rows of a tree end when its nodes have become others.
function* movedRows({ rowNode }, to) {
  const moved = new Uint32Array(rowNode.length);
  yield* slices(0, rowNode.length, (i, end) => {
    for (; i < end; i++) {
      const node = rowNode[i];
      moved[i] = node === noNode ? noNode : to[node];
    }
  });
  return moved;
}

// groupTree is a tree under the values of a label: a node for each
// value, and below it the stacks of its rows. What has no such label is left as
// it is.
/** @type {(p: Profile, t: Stacks, key: number) => Generator<void, Stacks>} */
function* groupTree(p, t, key) {
  const n = t.parent.length;
  const groups = labelValues(p, key); // of each list of labels, -1 for none
  const rows = yield* rowsByGroup(p, t, groups, p.head.values[key].length);
  const rowNode = new Uint32Array(t.rowNode.length).fill(noNode);
  const made = new Int32Array(n); // the group that a node was last made for, plus 2
  const to = new Uint32Array(n); // and what as
  const missing = [];
  const out = new GrowingNodes({ again: Uint8Array });
  out.push(0, 0);
  // add adds the stacks of rows until there are enough nodes, and returns the row after them.
  const add = (mine, i, end, enough, g) => {
    for (; i < end && out.count < enough; i++) {
      let node = t.rowNode[mine[i]];
      for (; made[node] !== g + 2; node = t.parent[node]) missing.push(node);
      while (missing.length) {
        const child = missing.pop();
        made[child] = g + 2;
        to[child] = out.push(to[node], t.frame[child]);
        out.again[to[child]] = t.again[child];
        node = child;
      }
      rowNode[mine[i]] = to[node];
    }
    return i;
  };
  for (let g = -1; g < rows.length - 1; g++) {
    const mine = rows[g + 1];
    if (!mine.length) continue;
    made[0] = g + 2;
    to[0] = g < 0 ? 0 : out.push(0, groupFrame(p, key, g));
    for (let i = 0; i < mine.length;) {
      yield* out.room(2 * sliceSteps);
      i = add(mine, i, Math.min(i + sliceSteps, mine.length), out.count + sliceSteps, g);
      yield;
    }
  }
  return { ...out.columns(), rowNode };
}

// labelValues is the value that each list of labels has for a key, -1 for none.
function labelValues(p, key) {
  return Int32Array.from(p.head.labels, (list) => {
    for (let i = 0; i < list.length; i += 2) if (list[i] === key) return list[i + 1];
    return -1;
  });
}

// rowsByGroup is the rows of each group, and before them those of none, each in
// the order of their nodes.
function* rowsByGroup(p, t, groups, n) {
  const { rowLabels } = p, order = yield* rowsByNode(t), all = order.length;
  const count = new Uint32Array(n + 1), next = new Uint32Array(n + 1);
  yield* slices(0, all, (i, to) => { for (; i < to; i++) count[groups[rowLabels[order[i]]] + 1]++; });
  const rows = Array.from(count, (size) => new Uint32Array(size));
  yield* slices(0, all, (i, to) => {
    for (; i < to; i++) {
      const g = groups[rowLabels[order[i]]] + 1;
      rows[g][next[g]++] = order[i];
    }
  });
  return rows;
}

// rowsByNode is the rows that count, in the order of their nodes.
function* rowsByNode({ parent, rowNode }) {
  const n = parent.length, next = new Uint32Array(n + 1); // where the rows of a node go
  yield* slices(0, rowNode.length, (i, to) => { for (; i < to; i++) if (rowNode[i] !== noNode) next[rowNode[i] + 1]++; });
  yield* slices(1, n + 1, (i, to) => { for (; i < to; i++) next[i] += next[i - 1]; });
  const order = new Uint32Array(next[n]);
  yield* slices(0, rowNode.length, (i, to) => { for (; i < to; i++) if (rowNode[i] !== noNode) order[next[rowNode[i]]++] = i; });
  return order;
}

// groupFrame is the frame that stands for a value of a label. Such frames follow
// those of the profile, key by key.
function groupFrame(p, key, value) {
  let f = p.frameName.length;
  for (let k = 0; k < key; k++) f += p.head.values[k].length;
  return f + value;
}

// sumTree adds up the values of the rows that a filter lets pass, a mask by list of labels:
// self, what ends at a node, and total, with all below it. Where values are
// negative, as differences are, width is the total of their sizes, so that boxes
// have room for those below them; else it is total.
/** @type {(p: Profile, tree: Stacks, event: { from: number, to: number }, values: Float64Array, mask: ArrayLike<number>) => Generator<void, Sums>} */
function* sumTree(p, tree, event, values, mask) {
  const self = new Float64Array(tree.parent.length);
  const { rowNode } = tree, { rowLabels } = p, first = event.from;
  let negative = false;
  yield* slices(first, event.to, (i, to) => {
    for (; i < to; i++) {
      const node = rowNode[i];
      if (!mask[rowLabels[i]] || node === noNode) continue;
      const v = values[i - first];
      self[node] += v;
      if (v < 0) negative = true;
    }
  });
  const total = yield* addUp(tree, self);
  if (!negative) return { tree, self, total, width: total };
  const sizes = new Float64Array(self.length);
  yield* slices(0, self.length, (i, to) => { for (; i < to; i++) sizes[i] = Math.abs(self[i]); });
  return { tree, self, total, width: yield* addUp(tree, sizes) };
}

function* addUp({ parent }, self) {
  const total = yield* copied(self), last = total.length - 1;
  yield* slices(0, last, (from, to) => { for (let i = last - from; i > last - to; i--) total[parent[i]] += total[i]; });
  return total;
}

// sumFunctions adds up by name: self, and total of the stacks that a name is in,
// each counted once.
/** @type {(p: Profile, sums: Sums) => Generator<void, Functions>} */
function* sumFunctions(p, { tree, self, total, width }) {
  const fself = new Float64Array(p.names.length);
  const ftotal = new Float64Array(p.names.length);
  const some = new Uint8Array(p.names.length);
  const { frame, again } = tree, { frameName } = p;
  yield* slices(1, total.length, (i, to) => {
    for (; i < to; i++) {
      const f = frame[i];
      if (f >= frameName.length) continue; // a group
      const name = frameName[f];
      if (width[i] !== 0) some[name] = 1;
      fself[name] += self[i];
      if (!again[i]) ftotal[name] += total[i];
    }
  });
  return { self: fself, total: ftotal, some };
}

// sumMatching is the sum of the stacks that have a name that matches.
/** @type {(p: Profile, sums: Sums, matches: Uint8Array) => Generator<void, number>} */
function* sumMatching(p, { tree: { parent, frame }, total }, matches) {
  const under = new Uint8Array(total.length), hits = Uint8Array.from({ length: frameCount(p) }, (_, f) => matches[p.nameOf(f)]);
  let sum = 0;
  yield* slices(1, total.length, (i, to) => {
    for (; i < to; i++) {
      const up = under[parent[i]], hit = hits[frame[i]];
      if (hit && !up) sum += total[i];
      under[i] = up | hit;
    }
  });
  return sum;
}

// GrowingNodes are the columns of a tree that grows at its end, with some beside those that
// every tree has.
class GrowingNodes {
  /** @type {Uint32Array} */ parent;
  /** @type {Uint32Array} */ depth;
  /** @type {Uint32Array} */ frame;
  /** @type {Uint8Array} */ again;
  /** @type {Float64Array} */ self;
  /** @type {Float64Array} */ total;
  /** @type {Float64Array} */ width;

  constructor(more) {
    this.types = Object.entries({ parent: Uint32Array, depth: Uint32Array, frame: Uint32Array, ...more });
    this.count = 0;
    for (const [name, Column] of this.types) this[name] = new Column(1 << 10);
  }

  push(parent, frame) {
    const i = this.count;
    if (i === this.parent.length) finish(this.grow(1));
    this.count++;
    this.parent[i] = parent;
    this.depth[i] = i ? this.depth[parent] + 1 : 0;
    this.frame[i] = frame;
    return i;
  }

  // room makes room for n more in slices, so that push needs not make it at once.
  * room(n) { yield* this.grow(n); }

  * grow(n) {
    const { length } = this.parent, least = this.count + n;
    if (least <= length) return;
    for (const [name] of this.types) this[name] = yield* copied(this[name], this.count, Math.max(2 * length, least));
  }

  /** @returns {any} */
  columns() { return Object.fromEntries(this.types.map(([name]) => [name, this[name].subarray(0, this.count)])); }
}

// GrowingTree is a tree made by asking for children by name, which are found by
// hash.
class GrowingTree extends GrowingNodes {
  constructor(p, rootFrame) {
    super({ self: Float64Array, total: Float64Array, width: Float64Array });
    this.nameOf = Uint32Array.from({ length: frameCount(p) }, (_, f) => p.nameOf(f));
    this.slots = new Uint32Array(1 << 10); // nodes; the root is nobody's child and marks an empty one
    this.push(0, rootFrame);
  }

  child(node, frame) {
    const { nameOf } = this, name = nameOf[frame], mask = this.slots.length - 1;
    let i = this.slot(node, name);
    for (; this.slots[i] !== 0; i = (i + 1) & mask) {
      const c = this.slots[i];
      if (this.parent[c] === node && nameOf[this.frame[c]] === name) return c;
    }
    const c = this.slots[i] = this.push(node, frame);
    if (c * 3 > this.slots.length * 2) finish(this.rehash(2 * this.slots.length));
    return c;
  }

  slot(node, name, length = this.slots.length) {
    const h = Math.imul(Math.imul(node, 0x9e3779b1) ^ name, 0x85ebca6b);
    return (h ^ h >>> 15) & (length - 1);
  }

  * room(n) {
    yield* this.grow(n);
    let { length } = this.slots;
    while ((this.count + n) * 3 > length * 2) length *= 2;
    if (length > this.slots.length) yield* this.rehash(length);
  }

  * rehash(length) {
    const slots = new Uint32Array(length), mask = length - 1;
    yield* slices(1, this.count, (c, to) => {
      for (; c < to; c++) {
        let i = this.slot(this.parent[c], this.nameOf[this.frame[c]], length);
        while (slots[i] !== 0) i = (i + 1) & mask;
        slots[i] = c;
      }
    });
    this.slots = slots;
  }

  add(node, self, total, width) {
    this.self[node] += self;
    this.total[node] += total;
    this.width[node] += width;
  }

  sums() {
    const { self, total, width, ...tree } = this.columns();
    return { tree, self, total, width };
  }
}

// callees is what a function calls: all that is below it, laid together. Below a
// recursive call the function shows again.
/** @type {(p: Profile, sums: Sums, name: number) => Generator<void, Sums>} */
function* callees(p, { tree: { parent, frame }, self, total, width }, name) {
  const out = new GrowingTree(p, frameOf(p, name)), n = total.length;
  const to = new Int32Array(n).fill(-1), { nameOf } = out;
  const add = (i, end) => {
    for (; i < end; i++) {
      if (width[i] === 0) continue;
      const up = to[parent[i]];
      if (up >= 0) to[i] = out.child(up, frame[i]);
      else if (nameOf[frame[i]] === name) to[i] = 0;
      else continue;
      out.add(to[i], self[i], total[i], width[i]);
    }
  };
  for (let i = 1; i < n; i += sliceSteps) {
    yield* out.room(sliceSteps);
    add(i, Math.min(i + sliceSteps, n));
    yield;
  }
  return out.sums();
}

// callers is who calls a function, nearest first: the paths above its outermost
// calls, upside down.
/** @type {(p: Profile, sums: Sums, name: number) => Generator<void, Sums>} */
function* callers(p, { tree: { parent, frame, again }, total, width }, name) {
  const out = new GrowingTree(p, frameOf(p, name)), n = total.length, { nameOf } = out;
  const add = (i, end, enough) => {
    for (; i < end && out.count < enough; i++) {
      if (width[i] === 0 || again[i] || nameOf[frame[i]] !== name) continue;
      let to = 0;
      out.add(0, 0, total[i], width[i]);
      for (let up = parent[i]; up !== 0; up = parent[up]) {
        to = out.child(to, frame[up]);
        out.add(to, 0, total[i], width[i]);
      }
      out.self[to] += total[i];
    }
    return i;
  };
  for (let i = 1; i < n;) {
    yield* out.room(2 * sliceSteps);
    i = add(i, Math.min(i + sliceSteps, n), out.count + sliceSteps);
    yield;
  }
  return out.sums();
}

// frameOf is the most frequent frame with a name.
function frameOf(p, name) { return Math.max(p.frameName.indexOf(name), 0); }

// emptySums are the sums of no samples.
function emptySums() {
  const none = new Float64Array(1);
  return { tree: { parent: new Uint32Array(1), frame: new Uint32Array(1) }, self: none, total: none, width: none };
}
