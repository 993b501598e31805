// Both sides of a comparison: what differs of a node, and their flame graphs below each other.

// compared is the totals of both sides of a comparison, by node.
App.prototype.compared = function compared() {
  return [newColumn, baseColumn].map((column) => this.sumsOfSide(column).total);
};

App.prototype.sumsOfSide = function sumsOfSide(column) { return finish(this.sumsOfSideIn(column)); };

App.prototype.sumsOfSideIn = function* sumsOfSideIn(column) {
  const tree = yield* this.treeIn();
  return yield* this.onceIn(`side ${column}`, this.needs(), () => sumTree(this.p, tree, this.event, this.event.values[column], this.mask()));
};

// layoutOfOtherIn is the layout of the side that is not the one shown.
App.prototype.layoutOfOtherIn = function* layoutOfOtherIn() {
  const { p, state: { column, heavy } } = this, sums = yield* this.sumsOfSideIn(newColumn + baseColumn - column);
  return yield* this.onceIn('layout of the other', [this.needs(), heavy], () => layOut(p, sums, heavy));
};

// tint is the colour of a node by what differs, null where nothing is compared.
App.prototype.tint = function tint() {
  if (!this.p.head.compare || this.state.view !== 'flame') return null;
  const [now, before] = this.compared();
  const dark = matchMedia('(prefers-color-scheme: dark)').matches, same = divergingColor(0, dark);
  const colors = new Map();
  return (node, frame) => {
    if (this.state.changes && !this.changed.has(this.p.nameOf(frame))) return same;
    const most = Math.max(now[node], before[node]);
    const step = most > 0 ? Math.round(50 * (now[node] - before[node]) / most) : 0;
    if (!colors.has(step)) colors.set(step, divergingColor(step / 50, dark));
    return colors.get(step);
  };
};

// differenceOf is a node's totals on both sides, and what differs.
App.prototype.differenceOf = function differenceOf(node) {
  const [now, before] = this.compared();
  return [`${this.amount(before[node], before[0])} → ${this.amount(now[node], now[0])}`,
    `${now[node] >= before[node] ? '+' : '−'}${formatValue(Math.abs(now[node] - before[node]), this.unit)}`];
};

// ofAll tells whether a chart shows all stacks, and not only those of a function.
App.prototype.ofAll = function ofAll(chart) { return chart === this.flame || chart === this.other; };

// showOther shows, below the flame graph, that of the other side where both are wanted. They
// have the same nodes, so that what is zoomed to in one is zoomed to in the other.
App.prototype.showOther = function showOther() {
  const { state } = this, both = state.sides && state.view === 'flame';
  for (const id of ['other', 'other-side', 'flame-side']) byId(id).hidden = !both;
  if (!both) return;
  const column = newColumn + baseColumn - state.column;
  const sums = this.other.sums = this.sumsOfSide(column);
  for (const { id, of } of [{ id: 'flame-side', of: state.column }, { id: 'other-side', of: column }]) {
    byId(id).textContent = `${shown(this.event.columns[of].type)}: ${formatValue(this.sumsOfSide(of).total[0], this.unit)}`;
  }
  this.other.tint = this.flame.tint;
  this.showZoomed(this.other, finish(this.layoutOfOtherIn()), sums.tree, state.range);
};

// pointOut marks in one side's flame graph the box that is pointed at in the other's.
App.prototype.pointOut = function pointOut(chart, box) {
  if (!this.state.sides || this.state.view !== 'flame' || !this.ofAll(chart)) return;
  const twin = chart === this.flame ? this.other : this.flame;
  const same = box && twin.layout ? this.boxOf(twin.layout, twin.tree, chart.layout.node[box.i]) : null;
  twin.hovered = same;
  twin.place(twin.hover, same);
};
