// Where the boxes of a chart lie.

/**
 * Layout is boxes, level by level and within a level from left to right.
 * @typedef {object} Layout
 * @property {number} levels number of levels
 * @property {number[]} start index of each level's first box, and behind the last one's last
 * @property {Uint32Array} node what a box shows
 * @property {Float64Array} x0 its edges, in units of the value or of time
 * @property {Float64Array} x1
 * @property {number} min the edges of everything
 * @property {number} max
 * @property {Float64Array} [filled] see filledUpTo
 */

// layOut lays out a tree by value: the box of a node is as wide as its total, and
// lies above its parent's; siblings are in the order of their names, as in a flame graph,
// whatever a filter lets pass, or the heaviest first, and what the parent spends itself is
// the free space on the right.
/** @type {(p: Profile, sums: Pick<Sums, 'tree' | 'width'>, heavy?: boolean) => Generator<void, Layout>} */
function* layOut(p, { tree, width }, heavy = false) {
  if (!(width[0] > 0)) return { levels: 0, start: [0], node: new Uint32Array(0), x0: new Float64Array(0), x1: new Float64Array(0), min: 0, max: width[0] };
  const order = yield* orderOf(p, { tree, width }, heavy), { depth } = tree, n = order.length;
  const count = [];
  let boxes = 0;
  yield* slices(0, n, (i, to) => {
    for (; i < to; i++) {
      if (width[i] === 0) continue;
      boxes++;
      count[depth[i]] = (count[depth[i]] ?? 0) + 1;
    }
  });
  const start = [0];
  for (const k of count) start.push(start.at(-1) + k);
  const node = new Uint32Array(boxes), x0 = new Float64Array(boxes), x1 = new Float64Array(boxes);
  const next = Uint32Array.from(start), x = new Float64Array(start.length + 1); // by level: the next box, and where it begins
  yield* slices(0, n, (k, to) => {
    for (; k < to; k++) {
      const i = order[k], wide = width[i];
      if (wide === 0) continue;
      const d = depth[i], at = next[d]++;
      node[at] = i;
      x0[at] = x[d + 1] = x[d];
      x1[at] = x[d] += wide;
    }
  });
  const layout = { levels: count.length, start, node, x0, x1, min: 0, max: width[0] };
  yield* fill(layout);
  return layout;
}

// orderOf is all nodes from the root on, each before those below it, and these in the order
// of their names or weights.
function* orderOf(p, { tree, width }, heavy) {
  if (!heavy && tree.order) return tree.order;
  const { at, children } = yield* childrenOf(p, { tree, width }, heavy), n = tree.parent.length;
  const order = new Uint32Array(n), todo = new Uint32Array(n);
  tree.depth ??= depthOf(tree);
  let left = 1;
  yield* slices(0, n, (k, to) => {
    for (; k < to; k++) {
      const i = order[k] = todo[--left];
      for (let c = at[i + 1] - 1; c >= at[i]; c--) todo[left++] = children[c];
    }
  });
  return heavy ? order : tree.order = order;
}

function depthOf({ parent }) {
  const depth = new Uint32Array(parent.length);
  for (let i = 1; i < depth.length; i++) depth[i] = depth[parent[i]] + 1;
  return depth;
}

// childrenOf lists the children of each node, from at[node] to at[node + 1], in the
// order of their names, or the heaviest first.
function* childrenOf(p, { tree, width }, heavy) {
  if (!heavy && tree.byName) return tree.byName; // whatever a filter lets pass
  const { parent, frame } = tree, n = parent.length;
  const at = new Uint32Array(n + 1);
  yield* slices(1, n, (i, to) => { for (; i < to; i++) at[parent[i] + 1]++; });
  yield* slices(0, n, (i, to) => { for (; i < to; i++) at[i + 1] += at[i]; });
  const next = at.slice();
  const children = new Uint32Array(Math.max(n - 1, 0));
  yield* slices(1, n, (i, to) => { for (; i < to; i++) children[next[parent[i]]++] = i; });
  if (heavy || !tree.sorted) {
    const rank = nameRanks(p), rankOf = Uint32Array.from({ length: frameCount(p) }, (_, f) => rank[p.nameOf(f)]);
    yield* slices(0, n, (i, to) => {
      for (; i < to; i++) if (at[i + 1] - at[i] > 1) sortChildren(children, at[i], at[i + 1], frame, rankOf, heavy ? width : null);
    });
  }
  if (heavy) return { at, children };
  return tree.byName = { at, children };
}

// sortChildren sorts some of the children, by width if that is given, and by name. Few are
// moved one by one: most are in order.
function sortChildren(children, from, to, frame, rankOf, width) {
  if (to - from > 16) {
    const order = (a, b) => (width ? width[b] - width[a] : 0) || rankOf[frame[a]] - rankOf[frame[b]] || a - b;
    let sorted = true;
    for (let j = from + 1; j < to && sorted; j++) sorted = order(children[j - 1], children[j]) <= 0;
    if (!sorted) children.subarray(from, to).sort(order);
    return;
  }
  for (let j = from + 1; j < to; j++) {
    const c = children[j], wide = width ? width[c] : 0, rank = rankOf[frame[c]];
    let k = j;
    for (; k > from; k--) {
      const before = children[k - 1], wider = width ? width[before] : 0;
      if (wider > wide || wider === wide && rankOf[frame[before]] <= rank) break;
      children[k] = before;
    }
    children[k] = c;
  }
}

// frameCount is how many frames there are, with those that groups are shown as.
function frameCount(p) { return p.frameName.length + p.groupNames.length; }

// nameRanks is the place of each name among all of them when they are sorted.
function nameRanks(p) {
  if (p.nameRank) return p.nameRank;
  const n = p.names.length + p.groupNames.length;
  const sorted = Uint32Array.from({ length: n }, (_, i) => i);
  const text = (i) => String(p.nameText(i));
  sorted.sort((a, b) => {
    const x = text(a), y = text(b);
    return x < y ? -1 : x > y ? 1 : 0;
  });
  p.nameRank = new Uint32Array(n);
  for (let i = 0, rank = 0; i < n; i++) {
    if (i > 0 && text(sorted[i]) !== text(sorted[i - 1])) rank = i;
    p.nameRank[sorted[i]] = rank;
  }
  return p.nameRank;
}

// filledUpTo is the sum of the widths of all boxes before each box, and of all of them.
function filledUpTo(layout) {
  if (!layout.filled) finish(fill(layout));
  return layout.filled;
}

function* fill(layout) {
  const { x0, x1, start } = layout, n = start[start.length - 1];
  const filled = new Float64Array(n + 1);
  yield* slices(0, n, (i, to) => { for (; i < to; i++) filled[i + 1] = filled[i] + (x1[i] - x0[i]); });
  layout.filled = filled;
}

// firstAfter is the first box of a level, from box i on, whose right edge lies
// behind x. It looks near i first.
function firstAfter(layout, i, end, x) {
  const { x1 } = layout;
  let step = 1, low = i;
  while (low < end && x1[low] <= x) {
    i = low + 1;
    low += step;
    step *= 2;
  }
  let high = Math.min(low, end);
  while (i < high) {
    const middle = (i + high) >> 1;
    if (x1[middle] <= x) i = middle + 1;
    else high = middle;
  }
  return i;
}

// findNode is the index of the box that shows a node, -1 if none does.
function findNode(layout, node, level) {
  for (let i = layout.start[level]; i < layout.start[level + 1]; i++) {
    if (layout.node[i] === node) return i;
  }
  return -1;
}

// parentBox is the box below a box, -1 for the root's.
function parentBox(layout, level, i) {
  if (level === 0) return -1;
  const up = firstAfter(layout, layout.start[level - 1], layout.start[level], layout.x0[i]);
  return up < layout.start[level] ? up : -1;
}
