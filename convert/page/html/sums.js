// What the state selects, computed when it is asked for, and kept: stacks, sums, functions.

// once computes what depends on a part of the state only when that changes to what it was
// not before.
App.prototype.once = function once(what, needs, compute) {
  return finish(this.onceIn(what, needs, function* all() { return compute(); }));
};

// onceIn is once of what is a generator, as what comes of it. Here and below, what ends in In
// takes long, and is one.
App.prototype.onceIn = function* onceIn(what, needs, compute) {
  const key = JSON.stringify(needs), { memory } = this, all = memory.get(what) ?? [];
  let known = all.find((x) => x.key === key);
  if (known) all.splice(all.indexOf(known), 1);
  else known = { key, value: yield* compute() };
  memory.set(what, [known, ...all].slice(0, mostKept));
  return known.value;
};

const mostKept = 3; // values of one kind, so that what is undone is there

// needs is what sums depend on; but replaces a part of it.
App.prototype.needs = function needs(but = {}) {
  const { event, column, group, filter, span, sizes, steps } = { ...this.state, ...but };
  return [event, column, group, [...filter].map(([k, v]) => [k, ...v]), span, sizes && sizes.map(String), steps];
};

// stacks is the profile's tree after the steps.
App.prototype.stacks = function stacks() { return finish(this.stacksIn()); };

/** @returns {Generator<void, Stacks>} */
App.prototype.stacksIn = function* stacksIn() {
  const { p, state: { steps } } = this;
  return steps.length ? yield* this.onceIn('stacks', steps, () => transformTree(p, steps)) : p.tree;
};

App.prototype.tree = function tree() { return finish(this.treeIn()); };

/** @returns {Generator<void, Stacks>} */
App.prototype.treeIn = function* treeIn() {
  const { group, steps } = this.state, stacks = yield* this.stacksIn();
  return group < 0 ? stacks : yield* this.onceIn('tree', [group, steps], () => groupTree(this.p, stacks, group));
};

App.prototype.mask = function mask() { return this.once('mask', this.needs(), () => labelMask(this.p, this.state.filter)); };

App.prototype.sums = function sums() { return finish(this.sumsIn()); };

/** @returns {Generator<void, Sums>} */
App.prototype.sumsIn = function* sumsIn() {
  const tree = yield* this.treeIn(), values = yield* this.valuesIn();
  return yield* this.onceIn('sums', this.needs(), () => sumTree(this.p, tree, this.event, values, this.mask()));
};

// values are those of the event's rows, of the span of time that is counted.
App.prototype.values = function values() { return finish(this.valuesIn()); };

/** @returns {Generator<void, Float64Array>} */
App.prototype.valuesIn = function* valuesIn() {
  const { event, column, span, sizes } = this.state;
  return yield* this.onceIn('values', [event, column, span, sizes && sizes.map(String)], () => spanValues(this.p, this.event, column, span, sizes));
};

// functions are those of all samples where a tree that is cut cannot tell them.
App.prototype.functions = function functions() { return finish(this.functionsIn()); };

/** @returns {Generator<void, Functions>} */
App.prototype.functionsIn = function* functionsIn() {
  const { p, state } = this;
  if (p.functions && !state.filter.size && !state.span && !state.sizes && !state.steps.length) return p.functions[state.event][state.column];
  const sums = yield* this.sumsIn();
  return yield* this.onceIn('functions', this.needs(), () => sumFunctions(p, sums));
};

// timesIn is what functions have by themselves over time, for the table.
App.prototype.timesIn = function* timesIn() {
  const { p } = this, stacks = yield* this.stacksIn(), samples = yield* this.samplesIn();
  return yield* this.onceIn('times', this.needs(), () => sparklines(p, stacks, samples, this.partOf(), 60, Math.max(p.moments.time.at(-1), 1)));
};

// name is the number of the function whose callers are shown: the one asked
// for, else the one that has most.
App.prototype.name = function name() {
  const { names } = this.p;
  const asked = this.state.name ? this.once('name', this.state.name, () => names.indexOf(this.state.name)) : -1;
  if (asked >= 0) return asked;
  const { self } = this.functions();
  return self.reduce((best, v, i) => v > (self[best] ?? 0) ? i : best, -1);
};

// matchedIn is the sum of the stacks with a name that is searched for.
/** @returns {Generator<void, number>} */
App.prototype.matchedIn = function* matchedIn() {
  const sums = yield* this.sumsIn();
  return yield* this.onceIn('matched', [this.state.query, this.needs()], () => sumMatching(this.p, sums, this.matchOf));
};

// flameSumsIn is what the flame graph shows, and flameLayoutIn where.
App.prototype.flameSums = function flameSums() { return finish(this.flameSumsIn()); };

/** @returns {Generator<void, Sums>} */
App.prototype.flameSumsIn = function* flameSumsIn() {
  const sums = yield* this.sumsIn();
  return this.state.inverted ? yield* this.onceIn('inverted', this.needs(), () => inverted(this.p, sums)) : sums;
};

/** @returns {Generator<void, Layout>} */
App.prototype.flameLayoutIn = function* flameLayoutIn() {
  const { heavy, inverted } = this.state, sums = yield* this.flameSumsIn();
  return yield* this.onceIn('layout', [this.needs(), heavy, inverted], () => layOut(this.p, sums, heavy));
};

// callersIn is who calls a function and whom it calls: for each, sums and a layout.
App.prototype.callersIn = function* callersIn(name) {
  const { p, state: { heavy } } = this, all = yield* this.sumsIn();
  return yield* this.onceIn('callers', [name, this.needs(), heavy], function* both() {
    const out = [];
    for (const of of [callers, callees]) {
      const sums = yield* of(p, all, name);
      out.push({ sums, layout: yield* layOut(p, sums, heavy) });
    }
    return out;
  });
};

// childrenIn is the children of each node of what the call tree shows, the heaviest first.
App.prototype.childrenIn = function* childrenIn() {
  const sums = yield* this.flameSumsIn();
  return yield* this.onceIn('children', [this.needs(), this.state.inverted], () => childrenOf(this.p, sums, true));
};

// lanesIn is how many samples each value of a label has; timeIn the layout of those of one; and
// stripIn what the strip shows, in so many bins.
App.prototype.lanesIn = function* lanesIn() {
  const { p, event, state: { laneKey } } = this, stacks = yield* this.stacksIn();
  return laneKey < 0 ? [] : yield* this.onceIn('lanes', [laneKey, this.needs()], () => timeLanes(p, stacks, event, this.mask(), laneKey));
};

App.prototype.laneOf = function laneOf(lanes) {
  return lanes.some(([value]) => value === this.state.lane) ? this.state.lane : lanes[0]?.[0] ?? null;
};

/** @returns {Generator<void, Layout>} */
App.prototype.timeIn = function* timeIn() {
  const { p, event, state: { laneKey, sizes } } = this, tree = yield* this.treeIn(), lane = this.laneOf(yield* this.lanesIn());
  return yield* this.onceIn('time', [laneKey, lane, this.needs()], () => {
    const mask = this.mask().slice();
    if (laneKey >= 0) labelValues(p, laneKey).forEach((v, i) => { if (v !== lane) mask[i] = 0; });
    return timeOrder(p, tree, event, mask, sizeTest(p, event, sizes));
  });
};

App.prototype.stripIn = function* stripIn(bins) {
  const { p, event, kinds, state: { column, laneKey, sizes, lanes: unfolded } } = this, tree = yield* this.stacksIn(), mask = this.mask();
  const most = unfolded ? unfoldedLanes : innerWidth < 760 ? fewLanes : mostLanes, needs = [this.needs({ span: null, group: -1 }), laneKey];
  const all = laneKey < 0 ? [] : yield* this.onceIn('strip lanes', needs, () => timeLanes(p, tree, event, mask, laneKey));
  const lanes = all.length < 2 ? [] : unfolded ? byProcess(p, laneKey, all.slice(0, most))
    : all.slice(0, most).map(([value]) => [value, `${p.head.keys[laneKey]} ${labelText(p, laneKey, value)}`]);
  const folded = Math.max(all.length - Math.max(most, 1), 0);
  const kindOf = (row) => kinds[tree.frame[tree.rowNode[row]]];
  return yield* this.onceIn('strip', [needs, bins, most], () =>
    countTime(p, tree, event, column, mask, bins, Math.max(p.moments.time.at(-1), 1), kindOf, laneKey, lanes, folded, sizeTest(p, event, sizes)));
};
