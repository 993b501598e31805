// Showing what takes long to compute: of a large profile first a picture without its
// lightest stacks, then, computed in slices, all of it.

const manyNodes = 3e5; // of a tree that takes long
const coarseParts = 3000; // a node with less than such a part of all is not in the picture

// show shows the state: what is known or computed soon at once, else first what there is to be
// seen of it.
App.prototype.show = function show() {
  this.background.stop();
  if (this.p.head.nodes < this.manyNodes || this.background.start(this.neededIn(), () => this.showCounted())) this.showCounted();
  else this.showCoarse();
};

App.prototype.manyNodes = manyNodes;

App.prototype.showCounted = function showCounted() {
  this.setCounting(false);
  this.render();
  const { event, column } = this.state;
  if (this.p.head.nodes < this.manyNodes || this.coarse?.event === event && this.coarse.column === column) return;
  this.background.start(this.coarseIn(), () => {});
};

App.prototype.setCounting = function setCounting(counting) {
  this.counting = counting;
  document.body.classList.toggle('counting', counting);
  byId('views').setAttribute('aria-busy', counting);
};

// neededIn computes what render needs.
App.prototype.neededIn = function* neededIn() {
  yield* this.functionsIn();
  yield* this.sumsIn();
  if (this.state.view === 'flame') yield* this.flameLayoutIn();
};

// coarseIn makes a profile of few nodes of the one that is shown: the others' stacks end above
// them.
App.prototype.coarseIn = function* coarseIn() {
  const { p, state: { event, column } } = this;
  const everything = new Uint8Array(p.head.labels.length).fill(1);
  const { width } = yield* sumTree(p, p.full, p.events[event], p.events[event].values[column], everything);
  const { parent, depth, frame, again } = p.full, n = parent.length, least = width[0] / coarseParts;
  const to = new Uint32Array(n), kept = [0];
  yield* slices(1, n, (i, end) => {
    for (; i < end; i++) to[i] = width[i] >= least && kept[to[parent[i]]] === parent[i] ? kept.push(i) - 1 : to[parent[i]];
  });
  const of = (column) => column.constructor.from(kept, (i) => column[i]);
  const full = { parent: Uint32Array.from(kept, (i) => to[parent[i]]), depth: of(depth), frame: of(frame), again: of(again), rowNode: yield* movedRows(p.full, to) };
  const coarse = Object.assign(Object.create(p), { full });
  coarse.tree = yield* mergeByName(p, full);
  this.coarse = { event, column, p: coarse };
};

// showCoarse shows what can be seen soon of what is being computed.
App.prototype.showCoarse = function showCoarse() {
  this.setCounting(true);
  for (const tab of document.querySelectorAll('[role=tab]')) tab.setAttribute('aria-selected', tab.dataset.view === this.state.view);
  this.chips();
  this.describe(null, null);
  const { state, coarse } = this, shown = document.body.dataset.view;
  if (state.view !== 'flame' || shown !== 'flame' || this.p.head.compare) return;
  const sums = state.inverted ? this.leaves()
    : coarse?.event === state.event && coarse.column === state.column && state.group < 0 ? finish(this.coarseSumsIn(coarse.p)) : null;
  if (!sums) return;
  this.flame.sums = sums;
  this.showOrMove(this.flame, finish(layOut(this.p, sums, state.heavy)), sums.tree, null, -1, null);
};

App.prototype.coarseSumsIn = function* coarseSumsIn(p) {
  const tree = this.state.steps.length ? yield* transformTree(p, this.state.steps) : p.tree;
  return yield* sumTree(p, tree, this.event, this.values(), this.mask());
};

// leaves is the outermost boxes of the inverted graph, null if they are not known yet.
App.prototype.leaves = function leaves() {
  const known = this.memory.get('functions')?.find(({ key }) => key === JSON.stringify(this.needs()))?.value;
  if (!known || this.state.group >= 0) return null;
  const out = new PreorderTree();
  out.push(0, 0, 0);
  known.self.forEach((self, name) => {
    if (self > 0) out.total[out.push(0, this.frameOfName[name], 1)] = self;
    out.total[0] += Math.max(self, 0);
  });
  const sums = out.sums(false);
  return { ...sums, self: sums.total, tree: { ...sums.tree, sorted: false } };
};
