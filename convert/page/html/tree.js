// Trees of frames and the sums on them.
//
// A tree is columns by node. Node 0 is the root and shows everything; a parent
// comes before its children:
//
//   parent, depth, frame
//   again      1 if a node above has the same name: a recursion, to be counted once
//   rowNode    the node where each row's stack ends; noNode of rows that do not count
//
// What computes all of a tree is a generator, see slices.js.

const noNode = 0xffffffff;

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
  for (const column of Object.keys(out)) out[column] = out[column].slice(0, count);
  out.rowNode = yield* movedRows(t, to);
  return out;
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
function* groupTree(p, t, key) {
  const n = t.parent.length;
  const groups = labelValues(p, key); // of each list of labels, -1 for none
  const rows = yield* rowsByGroup(p, t, groups, p.head.values[key].length);
  const parent = [0], depth = [0], frame = [0], again = [0];
  const rowNode = new Uint32Array(t.rowNode.length).fill(noNode);
  const made = new Int32Array(n); // the group that a node was last made for, plus 2
  const to = new Uint32Array(n); // and what as
  const missing = [];
  for (let g = -1; g < rows.length - 1; g++) {
    const mine = rows[g + 1];
    if (!mine.length) continue;
    made[0] = g + 2;
    to[0] = 0;
    if (g >= 0) {
      to[0] = parent.length;
      parent.push(0); depth.push(1); again.push(0);
      frame.push(groupFrame(p, key, g));
    }
    yield* slices(0, mine.length, (i, end) => {
      for (; i < end; i++) {
        const row = mine[i];
        let node = t.rowNode[row];
        for (; made[node] !== g + 2; node = t.parent[node]) missing.push(node);
        while (missing.length) {
          const child = missing.pop();
          made[child] = g + 2;
          to[child] = parent.length;
          parent.push(to[node]);
          depth.push(depth[to[node]] + 1);
          frame.push(t.frame[child]); again.push(t.again[child]);
          node = child;
        }
        rowNode[row] = to[node];
      }
    });
  }
  return {
    parent: new Uint32Array(parent), depth: new Uint32Array(depth), frame: new Uint32Array(frame),
    again: new Uint8Array(again), rowNode,
  };
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
function* rowsByGroup(p, { rowNode }, groups, n) {
  const { rowLabels } = p, count = new Uint32Array(n + 1);
  yield* slices(0, rowNode.length, (i, to) => { for (; i < to; i++) if (rowNode[i] !== noNode) count[groups[rowLabels[i]] + 1]++; });
  const rows = Array.from(count, (size) => new Uint32Array(size)), sorted = new Uint8Array(n + 1).fill(1), next = new Uint32Array(n + 1);
  yield* slices(0, rowNode.length, (i, to) => {
    for (; i < to; i++) {
      if (rowNode[i] === noNode) continue;
      const g = groups[rowLabels[i]] + 1, at = next[g]++;
      if (at > 0 && rowNode[rows[g][at - 1]] > rowNode[i]) sorted[g] = 0;
      rows[g][at] = i;
    }
  });
  for (let g = 0; g <= n; g++) {
    if (sorted[g]) continue;
    rows[g].sort((a, b) => rowNode[a] - rowNode[b]);
    yield;
  }
  return rows;
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
  return { tree, self, total, width: negative ? yield* addUp(tree, self.map(Math.abs)) : total };
}

function* addUp({ parent }, self) {
  const total = self.slice(), last = total.length - 1;
  yield* slices(0, last, (from, to) => { for (let i = last - from; i > last - to; i--) total[parent[i]] += total[i]; });
  return total;
}

// sumFunctions adds up by name: self, and total of the stacks that a name is in,
// each counted once.
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
function sumMatching(p, { tree, total }, matches) {
  let sum = 0;
  const under = new Uint8Array(total.length);
  for (let i = 1; i < total.length; i++) {
    const up = under[tree.parent[i]];
    const hit = matches[p.nameOf(tree.frame[i])];
    if (hit && !up) sum += total[i];
    under[i] = up | hit;
  }
  return sum;
}

// GrowingTree is a tree made by asking for children by name, which are found by
// hash.
class GrowingTree {
  constructor(p, rootFrame) {
    this.p = p;
    this.frame = [];
    this.name = [];
    this.parent = [];
    this.self = [];
    this.total = [];
    this.width = [];
    this.slots = new Uint32Array(1 << 10); // nodes; the root is nobody's child and marks an empty one
    this.push(0, rootFrame, p.nameOf(rootFrame));
  }

  push(parent, frame, name) {
    this.frame.push(frame);
    this.name.push(name);
    this.parent.push(parent);
    this.self.push(0);
    this.total.push(0);
    this.width.push(0);
    return this.frame.length - 1;
  }

  child(node, frame) {
    const name = this.p.nameOf(frame), mask = this.slots.length - 1;
    let i = this.slot(node, name);
    for (; this.slots[i] !== 0; i = (i + 1) & mask) {
      const c = this.slots[i];
      if (this.parent[c] === node && this.name[c] === name) return c;
    }
    const c = this.slots[i] = this.push(node, frame, name);
    if (c * 3 > this.slots.length * 2) this.grow();
    return c;
  }

  slot(node, name) {
    const h = Math.imul(Math.imul(node, 0x9e3779b1) ^ name, 0x85ebca6b);
    return (h ^ h >>> 15) & (this.slots.length - 1);
  }

  grow() {
    this.slots = new Uint32Array(2 * this.slots.length);
    const mask = this.slots.length - 1;
    for (let c = 1; c < this.frame.length; c++) {
      let i = this.slot(this.parent[c], this.name[c]);
      while (this.slots[i] !== 0) i = (i + 1) & mask;
      this.slots[i] = c;
    }
  }

  add(node, self, total, width) {
    this.self[node] += self;
    this.total[node] += total;
    this.width[node] += width;
  }

  sums() {
    const tree = { frame: new Uint32Array(this.frame), parent: new Uint32Array(this.parent) };
    return {
      tree, self: new Float64Array(this.self), total: new Float64Array(this.total), width: new Float64Array(this.width),
    };
  }
}

// callees is what a function calls: all that is below it, laid together. Below a
// recursive call the function shows again.
function callees(p, { tree, self, total, width }, name) {
  const out = new GrowingTree(p, frameOf(p, tree, name));
  const to = new Int32Array(total.length).fill(-1);
  for (let i = 1; i < total.length; i++) {
    if (width[i] === 0) continue;
    const up = to[tree.parent[i]];
    if (up >= 0) to[i] = out.child(up, tree.frame[i]);
    else if (p.nameOf(tree.frame[i]) === name) to[i] = 0;
    else continue;
    out.add(to[i], self[i], total[i], width[i]);
  }
  return out.sums();
}

// callers is who calls a function, nearest first: the paths above its outermost
// calls, upside down.
function callers(p, { tree, total, width }, name) {
  const out = new GrowingTree(p, frameOf(p, tree, name));
  for (let i = 1; i < total.length; i++) {
    if (width[i] === 0 || tree.again[i] || p.nameOf(tree.frame[i]) !== name) continue;
    let to = 0;
    out.add(0, 0, total[i], width[i]);
    for (let up = tree.parent[i]; up !== 0; up = tree.parent[up]) {
      to = out.child(to, tree.frame[up]);
      out.add(to, 0, total[i], width[i]);
    }
    out.self[to] += total[i];
  }
  return out.sums();
}

// frameOf is a frame with that name.
function frameOf(p, tree, name) {
  const i = tree.frame.findIndex((f, node) => node > 0 && p.nameOf(f) === name);
  return i < 0 ? 0 : tree.frame[i];
}

// emptySums are the sums of no samples.
function emptySums() {
  const none = new Float64Array(1);
  return { tree: { parent: new Uint32Array(1), frame: new Uint32Array(1) }, self: none, total: none, width: none };
}
