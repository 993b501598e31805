// The foot of the page: what is known of the box under the pointer, or of the one selected.

// described is the box that the foot of the page tells of: the one under the
// pointer, else the one selected, else the one zoomed to.
App.prototype.described = function described(chart, box) {
  if (box) return { chart, box };
  const selected = this.charts.find((c) => c.selected && !c.scroller.parentElement.hidden);
  if (selected) return { chart: selected, box: selected.selected };
  if (this.state.view === 'flame' && this.state.zoom && this.flame.layout) {
    const zoomed = this.boxOf(this.flame.layout, this.flame.tree, this.state.zoom);
    if (zoomed) return { chart: this.flame, box: zoomed };
  }
  return null;
};

App.prototype.describe = function describe(chart, box) {
  const what = this.counting ? null : this.described(chart, box);
  const [title, text] = byId('details').children;
  const button = byId('to-callers');
  button.hidden = !what || what.box.level === 0 || this.isGroup(what);
  if (this.counting) {
    title.textContent = '';
    text.textContent = 'counting …';
    return;
  }
  if (!what) {
    title.textContent = '';
    text.textContent = `total ${formatValue(this.sums().total[0], this.unit)}`;
    return;
  }
  const { tree, layout } = what.chart;
  const node = layout.node[what.box.i], frame = tree.frame[node];
  button.onclick = () => this.toCallers(what.chart, what.box);
  const everything = what.box.level === 0 && this.ofAll(what.chart);
  title.textContent = everything ? 'all' : shown(this.p.nameText(this.p.nameOf(frame)));
  const parts = everything ? [] : this.origin(frame);
  const all = this.sums().total[0];
  if (this.state.view === 'time') {
    parts.unshift(`${formatTime(layout.x1[what.box.i] - layout.x0[what.box.i])} from ${formatTime(layout.x0[what.box.i])}`,
      `clock ${((Number(this.p.head.clock) + layout.x0[what.box.i]) / 1e9).toFixed(6)}\u202fs`);
  } else if (this.p.head.compare && this.ofAll(what.chart)) {
    parts.unshift(...this.differenceOf(node));
  } else {
    const { self, total } = what.chart.sums;
    parts.unshift(`${this.amount(total[node], all)}`, `self ${this.amount(self[node], all)}`);
  }
  text.textContent = parts.join(' · ');
};

App.prototype.isGroup = function isGroup({ chart, box }) { return chart.tree.frame[chart.layout.node[box.i]] >= this.p.frameName.length; };

// origin tells what a frame is, and from where.
App.prototype.origin = function origin(frame) {
  return frame < this.p.frameName.length ? [frameKinds[this.kinds[frame]].text, ...this.place(frame)] : [];
};

// placeOf is where a function is from, by its number.
App.prototype.placeOf = function placeOf(name) { return this.frameOfName[name] < 0 ? '' : this.place(this.frameOfName[name]).join(' · '); };

// place is the mapping and the source of a frame, as far as they are known.
App.prototype.place = function place(frame) {
  const { p } = this;
  const mapping = p.frameMapping[frame] < 0 ? '' : p.head.mappings[p.frameMapping[frame]];
  const file = p.head.files[p.frameFile[frame]], line = p.frameLine[frame];
  return [shown(mapping), shown(file && line ? `${file}:${line}` : file)].filter(Boolean);
};
