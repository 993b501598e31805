// The tree of a profile by name, made of the one in which frames are told apart by what holds
// them. Few siblings have the same name, and where they may is known from the callees of frames,
// so that nobody looks for them among all nodes, as mergeByName must.

// mergeSiblings does what mergeByName does, of nodes in preorder; alike are those, in this order,
// beside which there may be one of the same name.
function mergeSiblings(p, t, alike) {
  const { parent, depth, frame } = t, n = parent.length, nameOf = (node) => p.frameName[frame[node]];
  const to = new Uint32Array(n), end = new Uint32Array(n).fill(n); // what a node is merged into, 0 for none; the one after all below it
  const open = [];
  for (let i = 1; i < n; i++) {
    while (open.length >= depth[i]) end[open.pop()] = i;
    open.push(i);
  }
  const children = new Map(); // of nodes that have been looked at: the first by name
  const childrenOf = (node) => {
    let first = children.get(node);
    if (first) return first;
    children.set(node, first = new Map());
    for (let c = node + 1; c < end[node]; c = end[c]) if (!first.has(nameOf(c))) first.set(nameOf(c), c);
    return first;
  };
  let merged = 0;
  for (const node of alike) {
    if (to[node] || to[parent[node]]) continue; // with the node above
    const first = childrenOf(parent[node]).get(nameOf(node)), todo = first === node ? [] : [[node, first]];
    for (const [from, into] of todo) { // level by level, so that what is first comes first
      const known = childrenOf(into);
      to[from] = into;
      merged++;
      for (let c = from + 1; c < end[from]; c = end[c]) {
        const same = known.get(nameOf(c));
        if (same) todo.push([c, same]);
        else known.set(nameOf(c), c);
      }
    }
  }
  return merged ? withoutMerged(t, to, n - merged) : t;
}

// withoutMerged is the tree of the nodes that are left.
function withoutMerged(t, to, count) {
  const n = to.length, out = { parent: new Uint32Array(count), depth: new Uint32Array(count), frame: new Uint32Array(count), again: new Uint8Array(count) };
  const number = new Uint32Array(n);
  for (let i = 1, next = 1; i < n; i++) {
    if (to[i]) {
      number[i] = number[to[i]]; // which comes before
      continue;
    }
    out.parent[next] = number[t.parent[i]];
    out.depth[next] = t.depth[i];
    out.frame[next] = t.frame[i];
    out.again[next] = t.again[i];
    number[i] = next++;
  }
  return { ...out, rowNode: t.rowNode.map((node) => number[node]) };
}
