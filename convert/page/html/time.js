// Samples in the order of time. p.moments is columns by sample: time, in ns after
// the first, and row.

// timeLanes is the values of a label that have samples, with how many, most
// first; value -1 is samples without the label.
function* timeLanes(p, { rowNode }, event, mask, key) {
  const of = labelValues(p, key), { row } = p.moments, { rowLabels } = p;
  const samples = new Float64Array(p.head.values[key].length + 1); // of each value, and before them of none
  yield* slices(0, row.length, (i, to) => {
    for (; i < to; i++) {
      const r = row[i];
      if (r >= event.from && r < event.to && mask[rowLabels[r]] && rowNode[r] !== noNode) samples[of[rowLabels[r]] + 1]++;
    }
  });
  return Array.from(samples, (n, i) => [i - 1, n]).filter(([, n]) => n).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
}

// byProcess is lanes, with their texts, such that threads of one process are together, those of
// the busiest process first.
function byProcess(p, key, lanes) {
  const name = p.head.keys[key], pid = name === 'tid' ? p.head.keys.indexOf('pid') : -1;
  const text = (value) => `${name} ${labelText(p, key, value)}`;
  if (pid < 0) return lanes.map(([value]) => [value, text(value)]);
  const processes = labelValues(p, pid), processOf = new Map(), sums = new Map();
  labelValues(p, key).forEach((value, i) => { if (!processOf.has(value)) processOf.set(value, processes[i]); });
  for (const [value, n] of lanes) sums.set(processOf.get(value), (sums.get(processOf.get(value)) ?? 0) + n);
  const sumOf = ([value]) => sums.get(processOf.get(value));
  return lanes.slice().sort((a, b) => sumOf(b) - sumOf(a) || processOf.get(a[0]) - processOf.get(b[0]) || b[1] - a[1])
    .map(([value]) => [value, processOf.get(value) >= 0 ? `${shown(p.head.values[pid][processOf.get(value)])}/${labelText(p, key, value)}` : text(value)]);
}

// timeOrder lays out the samples that a mask lets pass. A sample lasts until the
// next one, but no longer than a few of the usual steps: what follows is a gap.
// Neighbours share the boxes of the frames they share.
function* timeOrder(p, tree, event, mask, inSizes) {
  const { time, row } = p.moments;
  const picked = yield* momentsOf(p, tree, event, mask, inSizes, null);
  const longest = 3 * usualStep(time, picked);
  const walk = function* (emit) {
    const boxes = new OpenBoxes(tree, emit);
    yield* slices(0, picked.length, (i, to) => {
      for (; i < to; i++) {
        const t = time[picked[i]];
        const next = i + 1 < picked.length ? time[picked[i + 1]] : t + longest / 3;
        boxes.sample(tree.rowNode[row[picked[i]]], t, Math.min(next, t + longest));
      }
    });
    boxes.close(0);
  };
  return yield* gather(walk, time.length ? Math.max(time[time.length - 1] + longest / 3, 1) : 1);
}

// momentsOf is the numbers of the samples of an event that a mask lets pass, in a span and in a
// range of their own values.
function* momentsOf(p, { rowNode }, event, mask, inSizes, span) {
  const { row } = p.moments, { rowLabels } = p, [first, end] = span ? momentsIn(p, span) : [0, row.length];
  const picked = new Uint32Array(end - first);
  let n = 0;
  yield* slices(first, end, (i, to) => {
    for (; i < to; i++) {
      const r = row[i];
      if (r >= event.from && r < event.to && mask[rowLabels[r]] && rowNode[r] !== noNode && inSizes(i)) picked[n++] = i;
    }
  });
  return picked.subarray(0, n);
}

const mostSteps = 1e5; // that are sorted

// usualStep is the median time between two samples, in ns, at least 1. Of very many, some are
// looked at.
function usualStep(time, picked) {
  const last = Math.max(picked.length - 1, 0), every = Math.max(Math.ceil(last / mostSteps), 1);
  const steps = Float64Array.from({ length: Math.floor(last / every) }, (_, i) => time[picked[every * i + 1]] - time[picked[every * i]]);
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
function* gather(walk, max) {
  const count = [];
  yield* walk((level) => { count[level] = (count[level] ?? 0) + 1; });
  const start = [0];
  for (const n of count) start.push(start.at(-1) + n);
  const next = start.slice();
  const n = start.at(-1);
  const node = new Uint32Array(n), x0 = new Float64Array(n), x1 = new Float64Array(n);
  yield* walk((level, shows, from, to) => {
    const at = next[level]++;
    node[at] = shows;
    x0[at] = from;
    x1[at] = to;
  });
  return { levels: count.length, start, node, x0, x1, min: 0, max };
}
