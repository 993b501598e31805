// Stacks from their leaves on.

// inverted is the stacks of sums from their leaves on: of all nodes at which stacks end,
// those of one name are laid together, then those above them, and so on. It is made from
// the root on, in the order of names, as it is shown.
function inverted(p, { tree, self, total, width }) {
  const { parent, frame } = tree, negative = width !== total;
  const names = p.names.length + p.groupNames.length, rank = nameRanks(p);
  const nameOf = Uint32Array.from({ length: frameCount(p) }, (_, f) => p.nameOf(f));
  let ends = 0;
  for (let i = 0; i < self.length; i++) if (self[i] !== 0) ends++;
  // A segment of ends is what one node is made of: at is how far up each has come.
  let at = new Uint32Array(ends), value = new Float64Array(ends);
  for (let i = 0, k = 0; i < self.length; i++) {
    if (self[i] === 0) continue;
    at[k] = i;
    value[k++] = self[i];
  }
  const movedAt = new Uint32Array(ends), movedValue = new Float64Array(ends);
  const count = new Uint32Array(names), place = new Uint32Array(names);
  const out = new PreorderTree();
  const todo = [0, 0, ends]; // of nodes that are made: their number, and their segment
  out.push(0, 0, 0);
  while (todo.length) {
    const to = todo.pop(), from = todo.pop(), node = todo.pop();
    if (node < 0) { // a child that is to be made
      const first = ~node >>> 0, child = out.push(first, frame[at[from]], out.depth[first] + 1);
      for (let i = from; i < to; i++) at[i] = parent[at[i]];
      todo.push(child, from, to);
      continue;
    }
    let sum = 0, size = 0;
    for (let i = from; i < to; i++) {
      sum += value[i];
      size += Math.abs(value[i]);
    }
    out.total[node] = sum;
    if (negative) out.width[node] = size;
    if (to - from === 1) {
      chain(node, at[from], sum, size);
      continue;
    }
    const found = [];
    for (let i = from; i < to; i++) {
      if (at[i] === 0) {
        out.self[node] += value[i];
        continue;
      }
      const name = nameOf[frame[at[i]]];
      if (count[name]++ === 0) found.push(name);
    }
    if (found.length > 1) found.sort((a, b) => rank[a] - rank[b] || a - b);
    let end = from;
    for (const name of found) {
      place[name] = end;
      end += count[name];
    }
    for (let i = from; i < to; i++) {
      if (at[i] === 0) continue;
      const k = place[nameOf[frame[at[i]]]]++;
      movedAt[k] = at[i];
      movedValue[k] = value[i];
    }
    at.set(movedAt.subarray(from, end), from);
    value.set(movedValue.subarray(from, end), from);
    for (let i = found.length - 1; i >= 0; i--) {
      const n = count[found[i]];
      todo.push(~node, end - n, end);
      end -= n;
      count[found[i]] = 0;
    }
  }
  return out.sums(negative);

  // chain adds what is above a single end.
  function chain(node, up, sum, size) {
    for (; up !== 0; up = parent[up]) {
      node = out.push(node, frame[up], out.depth[node] + 1);
      out.total[node] = sum;
      if (negative) out.width[node] = size;
    }
    out.self[node] += sum;
  }
}

// PreorderTree is the columns of a tree that grows at its end, and sums on it.
class PreorderTree {
  constructor() {
    this.count = 0;
    this.grow(1 << 12);
  }

  grow(n) {
    for (const [name, Column] of [['parent', Uint32Array], ['frame', Uint32Array], ['depth', Uint32Array],
      ['self', Float64Array], ['total', Float64Array], ['width', Float64Array]]) {
      const grown = new Column(n);
      if (this[name]) grown.set(this[name]);
      this[name] = grown;
    }
  }

  push(parent, frame, depth) {
    const i = this.count++;
    if (i === this.frame.length) this.grow(2 * i);
    this.parent[i] = parent;
    this.frame[i] = frame;
    this.depth[i] = depth;
    return i;
  }

  sums(negative) {
    const cut = (column) => column.subarray(0, this.count);
    const total = cut(this.total);
    return {
      tree: { parent: cut(this.parent), frame: cut(this.frame), depth: cut(this.depth), sorted: true },
      self: cut(this.self), total, width: negative ? cut(this.width) : total,
    };
  }
}
