// The views beside the flame graph: inverted stacks, call tree, heat map, values, samples.

// flameSums is what the flame graph shows.
App.prototype.flameSums = function flameSums() { return finish(this.flameSumsIn()); };

App.prototype.flameSumsIn = function* flameSumsIn() {
  const sums = yield* this.sumsIn();
  return this.state.inverted ? yield* this.onceIn('inverted', this.needs(), () => inverted(this.p, sums)) : sums;
};

// samples are the numbers of the samples that pass all that is selected.
App.prototype.samples = function samples() {
  return this.once('samples', this.needs(), () => {
    const { p, event } = this, { row } = p.moments, { rowNode } = this.stacks(), mask = this.mask();
    const [first, end] = this.state.span ? momentsIn(p, this.state.span) : [0, row.length];
    const inSizes = sizeTest(p, event, this.state.sizes);
    const picked = new Uint32Array(end - first);
    let n = 0;
    for (let i = first; i < end; i++) {
      const r = row[i];
      if (r >= event.from && r < event.to && mask[p.rowLabels[r]] && rowNode[r] !== noNode && inSizes(i)) picked[n++] = i;
    }
    return picked.subarray(0, n);
  });
};

// partOf is what a sample has of the column shown.
App.prototype.partOf = function partOf() { return momentValue(this.p, this.event, this.state.column); };

// showOthers shows a view that is not made of charts.
App.prototype.showOthers = function showOthers() {
  const { p, state } = this;
  if (state.view === 'tree') this.callTree.show(state.inverted ? this.flameSums() : this.sums(), this.unit);
  if (state.view === 'samples') this.sampleList.show(this.samples(), this.stacks(), this.partOf(), this.unit);
  if (state.view === 'heat') {
    const duration = Math.max(p.moments.time.at(-1), 1);
    const everywhere = [...this.needs(), null];
    const span = state.span;
    const heat = this.once('heat', everywhere.filter((n) => n !== span), () => {
      state.span = null; // the map is of all times, and marks the span
      const samples = this.samples();
      state.span = span;
      return countHeat(samples, p.moments.time, this.partOf(), duration);
    });
    this.heat.show(heat, span, this.unit);
  }
  if (state.view === 'values') {
    fillHistogram(byId('values'), this.sized(), state.sizes, this.event.columns.find((c) => c.weighed).unit,
      (chosen) => this.set({ sizes: chosen }, { push: true }));
  }
};

// sizeTest tells of a sample whether its own value is in a range, of which the end is not.
function sizeTest(p, event, sizes) {
  const column = sizes ? event.columns.findIndex((c) => c.weighed) : -1;
  if (column < 0) return () => true;
  const value = momentValue(p, event, column);
  return (i) => value(i) >= sizes[0] && value(i) < sizes[1];
}

// sparklines is the self values of each name in bins of time: Map from name to sums.
function sparklines(p, tree, event, samples, part, bins, duration) {
  const found = new Map(), { time, row } = p.moments;
  for (const m of samples) {
    const node = tree.rowNode[row[m]];
    if (node === 0) continue;
    const name = p.frameName[tree.frame[node]];
    if (!found.has(name)) found.set(name, new Float32Array(bins));
    found.get(name)[Math.min(Math.floor(time[m] / duration * bins), bins - 1)] += part(m);
  }
  return found;
}

// sparkline draws sums as bars beside each other, for the table.
function sparkline(sums) {
  const most = sums.reduce((a, b) => Math.max(a, b), 0);
  if (!(most > 0)) return '';
  const canvas = element('canvas', { className: 'sparkline', width: 2 * sums.length, height: 40 });
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', `most at ${Math.round(100 * sums.indexOf(most) / sums.length)} % of the time`);
  const c = canvas.getContext('2d');
  c.fillStyle = 'hsl(30 60% 50%)';
  sums.forEach((v, i) => {
    const height = Math.max(v, 0) / most * 38;
    c.fillRect(2 * i, 40 - height, 2, height);
  });
  return canvas;
}
