// Where the boxes of a chart lie. A layout is boxes, level by level and within a
// level from left to right:
//
//   levels     number of levels
//   start      index of each level's first box, and behind the last one's last
//   node       what a box shows
//   x0, x1     its edges, in units of the value or of time
//   min, max   the edges of everything

// layOut lays out a tree by value: the box of a node is as wide as its total, and
// lies above its parent's; siblings are in the order of their names, as in a flame graph,
// whatever a filter lets pass, or the heaviest first, and what the parent spends itself is
// the free space on the right.
function layOut(p, { tree, width }, heavy = false) {
  const n = width.length;
  const first = childrenOf(p, { tree, width }, heavy);
  const node = new Uint32Array(n), x0 = new Float64Array(n), x1 = new Float64Array(n);
  const start = [0];
  let end = 0;
  if (width[0] > 0) {
    x1[0] = width[0];
    end = 1;
  }
  for (let from = 0; from < end;) {
    start.push(end);
    const to = end;
    for (let i = from; i < to; i++) {
      let x = x0[i];
      for (let c = first.at[node[i]]; c < first.at[node[i] + 1]; c++) {
        const child = first.children[c];
        if (width[child] === 0) continue;
        node[end] = child;
        x0[end] = x;
        x1[end++] = x += width[child];
      }
    }
    from = to;
  }
  return { levels: start.length - 1, start, node, x0, x1, min: 0, max: width[0] };
}

// childrenOf lists the children of each node, from at[node] to at[node + 1], in the
// order of their names, or the heaviest first.
function childrenOf(p, { tree, width }, heavy) {
  const n = tree.parent.length;
  const rank = nameRanks(p);
  const at = new Uint32Array(n + 1);
  for (let i = 1; i < n; i++) at[tree.parent[i] + 1]++;
  for (let i = 0; i < n; i++) at[i + 1] += at[i];
  const next = at.slice();
  const children = new Uint32Array(Math.max(n - 1, 0));
  const order = new Uint32Array(n); // of the names of nodes
  for (let i = 1; i < n; i++) {
    children[next[tree.parent[i]]++] = i;
    order[i] = rank[p.nameOf(tree.frame[i])];
  }
  const byName = heavy
    ? (a, b) => width[b] - width[a] || order[a] - order[b] || a - b
    : (a, b) => order[a] - order[b] || a - b;
  for (let i = 0; i < n; i++) {
    const from = at[i], to = at[i + 1];
    if (to - from > 16) {
      children.subarray(from, to).sort(byName);
      continue;
    }
    for (let j = from + 1; j < to; j++) {
      const c = children[j];
      let k = j;
      for (; k > from && byName(children[k - 1], c) > 0; k--) children[k] = children[k - 1];
      children[k] = c;
    }
  }
  return { at, children };
}

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
  if (layout.filled) return layout.filled;
  const { x0, x1, start } = layout, n = start[start.length - 1];
  const filled = new Float64Array(n + 1);
  for (let i = 0; i < n; i++) filled[i + 1] = filled[i] + (x1[i] - x0[i]);
  layout.filled = filled;
  return filled;
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
