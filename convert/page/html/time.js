// Samples in the order of time. p.moments is columns by sample: time, in ns after
// the first, and row.

// timeLanes is the values of a label that have samples, with how many, most
// first; value -1 is samples without the label.
function timeLanes(p, { rowNode }, event, mask, key) {
  const of = labelValues(p, key);
  const samples = new Map();
  for (const row of p.moments.row) {
    if (row < event.from || row >= event.to || !mask[p.rowLabels[row]] || rowNode[row] === noNode) continue;
    const value = of[p.rowLabels[row]];
    samples.set(value, (samples.get(value) ?? 0) + 1);
  }
  return [...samples].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
}

// timeOrder lays out the samples that a mask lets pass. A sample lasts until the
// next one, but no longer than a few of the usual steps: what follows is a gap.
// Neighbours share the boxes of the frames they share.
function timeOrder(p, tree, event, mask, inSizes) {
  const { time, row } = p.moments;
  const picked = [];
  for (let i = 0; i < row.length; i++) {
    if (row[i] >= event.from && row[i] < event.to && mask[p.rowLabels[row[i]]] && tree.rowNode[row[i]] !== noNode && inSizes(i)) picked.push(i);
  }
  const longest = 3 * usualStep(time, picked);
  const walk = (emit) => {
    const boxes = new OpenBoxes(tree, emit);
    for (let i = 0; i < picked.length; i++) {
      const t = time[picked[i]];
      const next = i + 1 < picked.length ? time[picked[i + 1]] : t + longest / 3;
      boxes.sample(tree.rowNode[row[picked[i]]], t, Math.min(next, t + longest));
    }
    boxes.close(0);
  };
  return gather(walk, time.length ? Math.max(time[time.length - 1] + longest / 3, 1) : 1);
}

// usualStep is the median time between two samples, in ns, at least 1.
function usualStep(time, picked) {
  const steps = new Float64Array(Math.max(picked.length - 1, 0));
  for (let i = 0; i < steps.length; i++) steps[i] = time[picked[i + 1]] - time[picked[i]];
  steps.sort();
  return Math.max(steps[steps.length >> 1] || time[time.length - 1] / 100 || 1, 1);
}

// OpenBoxes makes boxes of samples that come in the order of time, and gives each
// to emit(level, node, x0, x1) when it ends.
class OpenBoxes {
  constructor(tree, emit) {
    this.tree = tree;
    this.emit = emit;
    this.open = []; // by level: the node shown now
    this.since = [];
    this.until = -1;
  }

  sample(node, from, to) {
    if (to <= from) return;
    const { depth, parent } = this.tree;
    if (from > this.until) this.close(0);
    const path = [];
    for (let up = node; this.open[depth[up]] !== up; up = parent[up]) {
      path.push(up);
      if (up === 0) break;
    }
    this.close(depth[node] + 1 - path.length);
    while (path.length) {
      this.open.push(path.pop());
      this.since.push(from);
    }
    this.until = to;
  }

  // close ends the boxes from a level on.
  close(level) {
    while (this.open.length > level) {
      this.emit(this.open.length - 1, this.open.pop(), this.since.pop(), this.until);
    }
  }
}

// gather makes a layout of the boxes that walk gives out, which it asks for twice:
// to count them, and to place them. Those of one level come from left to right.
function gather(walk, max) {
  const count = [];
  walk((level) => { count[level] = (count[level] ?? 0) + 1; });
  const start = [0];
  for (const n of count) start.push(start.at(-1) + n);
  const next = start.slice();
  const n = start.at(-1);
  const node = new Uint32Array(n), x0 = new Float64Array(n), x1 = new Float64Array(n);
  walk((level, shows, from, to) => {
    const at = next[level]++;
    node[at] = shows;
    x0[at] = from;
    x1[at] = to;
  });
  return { levels: count.length, start, node, x0, x1, min: 0, max };
}
