// Stacks from their leaves on.

// inverted is the stacks of sums from their leaves on: of all nodes at which stacks end,
// those of one name are laid together, then those above them, and so on. It is made from
// the root on, in the order of names, as it is shown; a generator, see slices.js.
/** @type {(p: Profile, sums: Sums) => Generator<void, Sums>} */
function* inverted(p, { tree, self, total, width }) {
  const { parent, frame } = tree, negative = width !== total;
  const names = p.names.length + p.groupNames.length, rank = nameRanks(p);
  const nameOf = Uint32Array.from({ length: frameCount(p) }, (_, f) => p.nameOf(f));
  let ends = 0;
  yield* slices(0, self.length, (i, end) => { for (; i < end; i++) if (self[i] !== 0) ends++; });
  // A segment of ends is what one node is made of: at is how far up each has come.
  const at = new Uint32Array(ends), value = new Float64Array(ends);
  let k = 0;
  yield* slices(0, self.length, (i, end) => {
    for (; i < end; i++) {
      if (self[i] === 0) continue;
      at[k] = i;
      value[k++] = self[i];
    }
  });
  const movedAt = new Uint32Array(ends), movedValue = new Float64Array(ends);
  const count = new Uint32Array(names), place = new Uint32Array(names);
  const out = new InvertedNodes();
  const todo = [0, 0, ends]; // of nodes that are made: their number, and their segment
  let sum = 0, size = 0; // of the segment that is looked at
  out.push(0, 0);
  while (todo.length) {
    yield* out.room(2 * sliceSteps);
    for (let left = sliceSteps; left > 0 && todo.length;) {
      const node = todo[todo.length - 3], from = todo[todo.length - 2], to = todo[todo.length - 1];
      if (to - from > sliceSteps) break;
      todo.length -= 3;
      const before = out.count;
      if (node < 0) {
        const child = make(node, from);
        goUp(from, to);
        split(child, from, to);
      } else split(node, from, to);
      left -= to - from + out.count - before + 16; // even the smallest takes some steps
    }
    yield;
    if (!todo.length) break;
    const to = todo.pop(), from = todo.pop();
    let node = todo.pop();
    if (to - from <= sliceSteps) {
      todo.push(node, from, to);
      continue;
    }
    if (node < 0) { // a child that is to be made
      node = make(node, from);
      yield* slices(from, to, goUp);
    }
    const found = [];
    sum = size = 0;
    yield* slices(from, to, addUpEnds);
    enter(node);
    yield* slices(from, to, (a, b) => find(node, a, b, found));
    const end = placeNames(from, found);
    yield* slices(from, to, move);
    yield* slices(from, end, moveBack);
    leave(node, end, found);
  }
  return out.sums(negative);

  // make makes the child that a node of todo below 0 stands for.
  function make(node, from) {
    const up = ~node >>> 0;
    return out.push(up, frame[at[from]]);
  }

  function goUp(i, to) { for (; i < to; i++) at[i] = parent[at[i]]; }

  // split does all that a node's segment needs.
  function split(node, from, to) {
    sum = size = 0;
    addUpEnds(from, to);
    enter(node);
    if (to - from === 1) {
      chain(node, at[from]);
      return;
    }
    const found = [];
    find(node, from, to, found);
    const end = placeNames(from, found);
    move(from, to);
    moveBack(from, end);
    leave(node, end, found);
  }

  function addUpEnds(i, to) {
    for (; i < to; i++) {
      sum += value[i];
      size += Math.abs(value[i]);
    }
  }

  function enter(node) {
    out.total[node] = sum;
    if (negative) out.width[node] = size;
  }

  // find lists the names that ends have come to, and counts them; what ends here is the node's own.
  function find(node, i, to, found) {
    for (; i < to; i++) {
      if (at[i] === 0) {
        out.self[node] += value[i];
        continue;
      }
      const name = nameOf[frame[at[i]]];
      if (count[name]++ === 0) found.push(name);
    }
  }

  // placeNames sorts names, and returns where the ends of all of them end.
  function placeNames(end, found) {
    if (found.length > 1) found.sort((a, b) => rank[a] - rank[b] || a - b);
    for (const name of found) {
      place[name] = end;
      end += count[name];
    }
    return end;
  }

  function move(i, to) {
    for (; i < to; i++) {
      if (at[i] === 0) continue;
      const k = place[nameOf[frame[at[i]]]]++;
      movedAt[k] = at[i];
      movedValue[k] = value[i];
    }
  }

  function moveBack(from, to) {
    at.set(movedAt.subarray(from, to), from);
    value.set(movedValue.subarray(from, to), from);
  }

  // leave has the children made, the first by name first.
  function leave(node, end, found) {
    for (let i = found.length - 1; i >= 0; i--) {
      const n = count[found[i]];
      todo.push(~node, end - n, end);
      end -= n;
      count[found[i]] = 0;
    }
  }

  // chain adds what is above a single end.
  function chain(node, up) {
    for (; up !== 0; up = parent[up]) {
      node = out.push(node, frame[up]);
      out.total[node] = sum;
      if (negative) out.width[node] = size;
    }
    out.self[node] += sum;
  }
}

// InvertedNodes are a tree that grows, and sums on it.
class InvertedNodes extends GrowingNodes {
  constructor() { super({ self: Float64Array, total: Float64Array, width: Float64Array }); }

  sums(negative) {
    const { self, total, width, ...tree } = this.columns();
    return { tree: { ...tree, sorted: true }, self, total, width: negative ? width : total };
  }
}
