// The views beside the flame graph: inverted stacks, call tree, heat map, values, samples.

// samples are the numbers of the samples that pass all that is selected.
App.prototype.samples = function samples() { return finish(this.samplesIn()); };

// samplesIn is that with a part of the state as it is not.
App.prototype.samplesIn = function* samplesIn(but = {}) {
  const { p, event } = this, { span, sizes } = { ...this.state, ...but }, stacks = yield* this.stacksIn(), mask = this.mask();
  return yield* this.onceIn('samples', this.needs(but), () => momentsOf(p, stacks, event, mask, sizeTest(p, event, sizes), span));
};

// partOf is what a sample has of the column shown.
App.prototype.partOf = function partOf() { return momentValue(this.p, this.event, this.state.column); };

// showOthers shows a view that is not made of charts.
App.prototype.showOthers = function showOthers() {
  const { p, state } = this;
  if (state.view === 'tree') this.callTree.show(this.flameSums(), finish(this.childrenIn()), this.unit);
  if (state.view === 'samples') this.sampleList.show(this.samples(), this.stacks(), this.partOf(), this.unit);
  if (state.view === 'heat') {
    this.heat.show(finish(this.heatIn()), state.span, this.unit);
  }
  if (state.view === 'values') {
    fillHistogram(byId('values'), this.sized(), state.sizes, this.event.columns.find((c) => c.weighed).unit,
      (chosen) => this.set({ sizes: chosen }, { push: true }));
  }
};

// heatIn is the heat map of all times, whatever span is selected.
App.prototype.heatIn = function* heatIn() {
  const { moments: { time } } = this.p, samples = yield* this.samplesIn({ span: null });
  return yield* this.onceIn('heat', this.needs({ span: null }), () => countHeat(samples, time, this.partOf(), Math.max(time.at(-1), 1)));
};

// sizeTest tells of a sample whether its own value is in a range, of which the end is not.
function sizeTest(p, event, sizes) {
  const column = sizes ? event.columns.findIndex((c) => c.weighed) : -1;
  if (column < 0) return () => true;
  const value = momentValue(p, event, column);
  return (i) => value(i) >= sizes[0] && value(i) < sizes[1];
}

// sparklines is the self values of each name in bins of time: Map from name to sums.
function* sparklines(p, { frame, rowNode }, samples, part, bins, duration) {
  const found = new Map(), { time, row } = p.moments, { frameName } = p;
  yield* slices(0, samples.length, (i, to) => {
    for (; i < to; i++) {
      const m = samples[i], node = rowNode[row[m]];
      if (node === 0) continue;
      const name = frameName[frame[node]];
      let sums = found.get(name);
      if (!sums) found.set(name, sums = new Float32Array(bins));
      sums[Math.min(Math.floor(time[m] / duration * bins), bins - 1)] += part(m);
    }
  });
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
