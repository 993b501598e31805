// Showing what takes long to compute: of a large profile first a picture without its
// lightest stacks, then, computed in slices, all of it.

const manyNodes = 3e5; // of a tree that takes long
const coarseParts = 3000; // a node with less than such a part of all is not in the picture

// show shows the state: what is known or computed soon at once, else first what there is to be
// seen of it.
App.prototype.show = function show() {
  if (!this.hasView(this.state.view)) this.state.view = 'flame';
  this.background.stop();
  if (!this.isLarge() || this.background.start(this.neededIn(), () => this.showCounted())) this.showCounted();
  else this.showCoarse();
};

App.prototype.manyNodes = manyNodes;

App.prototype.isLarge = function isLarge() { return Math.max(this.p.head.nodes, this.p.head.moments) >= this.manyNodes; };

App.prototype.showCounted = function showCounted() {
  this.setCounting(false);
  this.render();
  if (this.isLarge()) this.background.start(this.afterwardsIn(), () => {});
};

// afterwardsIn computes what is not waited for.
App.prototype.afterwardsIn = function* afterwardsIn() {
  const { event, column, query } = this.state;
  if (query) {
    yield* this.matchedIn();
    this.search();
  }
  if (this.coarse?.event !== event || this.coarse.column !== column) yield* this.coarseIn();
};

// matchedSoon is matchedIn's sum, undefined while it is computed.
App.prototype.matchedSoon = function matchedSoon() {
  const work = this.matchedIn(), { done, value } = work.next();
  return done ? value : this.isLarge() ? undefined : finish(work);
};

App.prototype.setCounting = function setCounting(counting) {
  this.counting = counting;
  document.body.classList.toggle('counting', counting);
  byId('views').setAttribute('aria-busy', counting);
};

// neededIn computes what render needs.
App.prototype.neededIn = function* neededIn() {
  const { p, state: { view, sides } } = this;
  yield* this.functionsIn();
  yield* this.sumsIn();
  if (p.moments) {
    byId('strip').hidden = false; // it has as many bars as there is room
    yield* this.stripIn(this.strip.binsFor(p.moments.time.length));
  }
  if (this.hasSpread() || view === 'values') yield* this.sizedIn();
  if (p.head.compare) for (const column of [newColumn, baseColumn]) yield* this.sumsOfSideIn(column);
  if (view === 'flame') yield* this.flameLayoutIn();
  if (view === 'flame' && sides) yield* this.layoutOfOtherIn();
  if (view === 'time') yield* this.timeIn();
  if (view === 'callers' && this.name() >= 0) yield* this.callersIn(this.name());
  if (view === 'functions' && p.moments) yield* this.timesIn();
  if (view === 'tree') yield* this.childrenIn();
  if (view === 'heat') yield* this.heatIn();
  if (view === 'samples') yield* this.samplesIn();
};

// coarseIn makes a profile of few nodes of the one that is shown: the others' stacks end above
// them. Each node has one row; rowTo is to which the profile's rows have come.
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
  const full = { parent: Uint32Array.from(kept, (i) => to[parent[i]]), depth: of(depth), frame: of(frame), again: of(again), rowNode: Uint32Array.from(kept, (_, i) => i) };
  const coarse = Object.assign(Object.create(p), { full, rowLabels: new Uint32Array(kept.length), tree: yield* mergeByName(p, full) });
  this.coarse = { event, column, p: coarse, rowTo: yield* movedRows(p.full, to) };
};

// showCoarse shows what can be seen soon of what is being computed.
App.prototype.showCoarse = function showCoarse() {
  this.setCounting(true);
  this.markTab();
  this.chips();
  this.describe(null, null);
  const { state, coarse } = this, shown = document.body.dataset.view;
  if (state.view !== 'flame' || shown !== 'flame' || this.p.head.compare) return;
  const sums = state.inverted ? this.leaves()
    : coarse?.event === state.event && coarse.column === state.column && state.group < 0 ? finish(this.coarseSumsIn()) : null;
  if (!sums) return;
  this.flame.sums = sums;
  this.showOrMove(this.flame, finish(layOut(this.p, sums, state.heavy)), sums.tree, null, -1, null);
};

App.prototype.coarseSumsIn = function* coarseSumsIn() {
  const { event: { from, to }, coarse: { p, rowTo }, p: { rowLabels }, state: { steps } } = this;
  const values = this.values(), mask = this.mask(), own = new Float64Array(p.rowLabels.length);
  for (let row = from; row < to; row++) if (mask[rowLabels[row]]) own[rowTo[row]] += values[row - from];
  const tree = steps.length ? yield* transformTree(p, steps) : p.tree;
  return yield* sumTree(p, tree, { from: 0, to: own.length }, own, [1]);
};

// leaves is the outermost boxes of the inverted graph, null if they are not known yet.
App.prototype.leaves = function leaves() {
  const known = this.memory.get('functions')?.find(({ key }) => key === JSON.stringify(this.needs()))?.value;
  if (!known || this.state.group >= 0) return null;
  const out = new InvertedNodes();
  out.push(0, 0);
  known.self.forEach((self, name) => {
    if (self > 0) out.total[out.push(0, this.frameOfName[name])] = self;
    out.total[0] += Math.max(self, 0);
  });
  const sums = out.sums(false);
  return { ...sums, self: sums.total, tree: { ...sums.tree, sorted: false } };
};
