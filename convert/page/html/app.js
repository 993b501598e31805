// The page: keeps the state, computes what it needs, and has the parts show it.

const byId = (id) => document.getElementById(id);

const mostKept = 3; // values of one kind, so that what is undone is there

class App {
  constructor(p, blank) {
    this.blank = blank; // see blankPage
    this.take(p);
    this.state = stateOf(p, location.hash);
    this.menu = new Menu(byId('menu'));
    this.tooltip = new Tooltip(byId('tooltip'));
    this.matchOf = null; // of each name, null when nothing is searched for
    const frames = {
      root: 'all',
      text: (f) => shown(this.p.nameText(this.p.nameOf(f))),
      mark: (f) => frameKinds[this.kinds[f]].mark,
      kind: (f) => this.kinds[f],
      shade: (f) => this.shades[f],
      searching: () => this.matchOf !== null,
      matches: (f) => this.matchOf ? (this.matchOf[this.p.nameOf(f)] ? 1 : -1) : 0,
    };
    const chart = (id, label, upward) => new Chart(byId(id), frames, {
      upward, label, onPick: (c, box, e) => this.pick(c, box, e), onHover: (c, box, e) => { this.describe(c, box); this.tell(c, box, e); this.pointOut(c, box); },
    });
    this.flame = chart('flame', 'Flame graph', !this.state.icicle);
    this.callers = chart('callers', 'Callers', true);
    this.callees = chart('callees', 'Callees', false);
    this.other = chart('other', 'Flame graph of the other side', !this.state.icicle);
    this.charts = [this.flame, this.other, this.callers, this.callees];
    this.flame.onRange = () => this.set({ range: this.flame.range, zoom: 0 }, { draw: false });
    this.table = new FunctionTable(byId('table'), {
      kindOf: (name) => this.frameOfName[name] < 0 ? unknownKind : this.kinds[this.frameOfName[name]],
      placeOf: (name) => this.frameOfName[name] < 0 ? '' : this.place(this.frameOfName[name]).join(' · '),
      onPick: (name) => this.set({ view: 'callers', name: this.p.names[name] }, { push: true }),
      onSort: (sort) => this.set({ sort, ascending: this.state.sort === sort && !this.state.ascending }),
    });
    this.background = new Background();
    this.strip = new TimeStrip(byId('strip'), (span) => this.set({ span, range: null }, { push: true }));
    this.callTree = new CallTree(byId('tree'), this);
    this.sampleList = new SampleList(byId('samples'), this);
    this.heat = new HeatMap(byId('heat'), (span) => this.set({ span, range: null }, { push: true }));
    this.filters = new FilterPanel(byId('filters'), p, (filter) => this.set({ filter, range: null }, { push: true }));
    this.fillPicks();
    this.fillLinks();
    if (p.head.compare) {
      this.changed = new Set(p.head.compare.rows.map((r) => p.names.indexOf(r.function)));
      fillCompare(byId('verdict'), p.head.compare, (name) => this.set({ view: 'callers', name }, { push: true }));
      byId('changes-pick').hidden = byId('sides-pick').hidden = false;
      byId('legend').replaceChildren(...[['less', -1], ['the same', 0], ['more', 1]].map(([text, difference]) => {
        const mark = element('i', { className: 'kind' });
        mark.style.background = cssColor(divergingColor(difference, false));
        return element('li', {}, mark, text);
      }));
    }
    this.listen();
    this.theme();
    this.show();
    this.follow();
  }

  // take takes a profile, of which nothing is computed yet.
  take(p) {
    this.p = p;
    this.memory = new Map(); // what was computed last, by what for
    this.coarse = null; // see coarse.js
    this.kinds = kindsOfFrames(p);
    this.shades = this.kinds.map((_, f) => shadeOf(p.nameText(p.nameOf(f))));
    this.frameOfName = new Int32Array(p.names.length).fill(-1); // the most frequent one
    for (let f = p.frameName.length - 1; f >= 0; f--) this.frameOfName[p.frameName[f]] = f;
  }

  // set changes the state, what is shown, and the URL; push makes a step to go
  // back from. What takes long to compute is shown later, see coarse.js.
  set(change, { push = false, draw = true } = {}) {
    Object.assign(this.state, change);
    if (change.span) this.state.span = wholeBins(this.p, change.span);
    const hash = `#${hashOf(this.p, this.state)}`;
    if (hash !== (location.hash || '#')) history[push ? 'pushState' : 'replaceState'](null, '', hash);
    if (draw) this.show();
  }

  // once computes what depends on a part of the state only when that changes to what it was
  // not before.
  once(what, needs, compute) {
    return finish(this.onceIn(what, needs, function* all() { return compute(); }));
  }

  // onceIn is once of what is a generator, as what comes of it. Here and below, what ends in In
  // takes long, and is one.
  * onceIn(what, needs, compute) {
    const key = JSON.stringify(needs), { memory } = this, all = memory.get(what) ?? [];
    let known = all.find((x) => x.key === key);
    if (known) all.splice(all.indexOf(known), 1);
    else known = { key, value: yield* compute() };
    memory.set(what, [known, ...all].slice(0, mostKept));
    return known.value;
  }

  get event() { return this.p.events[this.state.event]; }

  get unit() { return this.event.columns[this.state.column].unit; }

  needs() {
    const { event, column, group, filter, span, sizes, steps } = this.state;
    return [event, column, group, [...filter].map(([k, v]) => [k, ...v]), span, sizes && sizes.map(String), steps];
  }

  // stacks is the profile's tree after the steps.
  stacks() { return finish(this.stacksIn()); }

  * stacksIn() {
    const { p, state: { steps } } = this;
    return steps.length ? yield* this.onceIn('stacks', steps, () => transformTree(p, steps)) : p.tree;
  }

  tree() { return finish(this.treeIn()); }

  * treeIn() {
    const { group, steps } = this.state, stacks = yield* this.stacksIn();
    return group < 0 ? stacks : yield* this.onceIn('tree', [group, steps], () => groupTree(this.p, stacks, group));
  }

  mask() { return this.once('mask', this.needs(), () => labelMask(this.p, this.state.filter)); }

  sums() { return finish(this.sumsIn()); }

  * sumsIn() {
    const tree = yield* this.treeIn();
    return yield* this.onceIn('sums', this.needs(), () => sumTree(this.p, tree, this.event, this.values(), this.mask()));
  }

  // values are those of the event's rows, of the span of time that is counted.
  values() {
    const { event, column, span, sizes } = this.state;
    return this.once('values', [event, column, span, sizes && sizes.map(String)], () => spanValues(this.p, this.event, column, span, sizes));
  }

  // functions are those of all samples where a tree that is cut cannot tell them.
  functions() { return finish(this.functionsIn()); }

  * functionsIn() {
    const { p, state } = this;
    if (p.functions && !state.filter.size && !state.span && !state.sizes && !state.steps.length) return p.functions[state.event][state.column];
    const sums = yield* this.sumsIn();
    return yield* this.onceIn('functions', this.needs(), () => sumFunctions(p, sums));
  }

  // times is what functions have by themselves over time, for the table.
  times() {
    const { p } = this;
    return this.once('times', this.needs(), () => sparklines(p, this.stacks(), this.event, this.samples(), this.partOf(), 60, Math.max(p.moments.time.at(-1), 1)));
  }

  // name is the number of the function whose callers are shown: the one asked
  // for, else the one that has most.
  name() {
    const { names } = this.p;
    const asked = this.state.name ? this.once('name', this.state.name, () => names.indexOf(this.state.name)) : -1;
    if (asked >= 0) return asked;
    const { self } = this.functions();
    return self.reduce((best, v, i) => v > (self[best] ?? 0) ? i : best, -1);
  }

  render() {
    const { state } = this;
    this.search();
    const { columns } = this.event;
    if (!this.p.moments && ['time', 'heat', 'samples'].includes(state.view) || state.view === 'values' && !columns.some((c) => c.weighed)) state.view = 'flame';
    document.querySelector('[data-view=values]').disabled = !columns.some((c) => c.weighed);
    for (const tab of document.querySelectorAll('[role=tab]')) {
      tab.setAttribute('aria-selected', tab.dataset.view === state.view);
    }
    document.body.dataset.view = state.view;
    const total = this.sums().total[0];
    byId('nothing').hidden = true;
    byId('value').value = `${state.event}.${state.column}`;
    byId('group').value = state.group;
    byId('lanes').hidden = state.view !== 'time';
    byId('flame').hidden = state.view !== 'flame' && state.view !== 'time';
    for (const id of ['callers', 'callees', 'between', 'function-name']) byId(id).hidden = state.view !== 'callers';
    for (const id of ['tree', 'heat', 'values', 'samples']) byId(id).hidden = state.view !== id;
    const name = state.view === 'callers' ? this.name() : -1, { p } = this;
    this.table.show(this.p, this.functions(), {
      total, unit: this.unit, sort: state.sort, ascending: state.ascending, matches: this.matchOf, picked: name,
      times: state.view === 'functions' && p.moments ? this.times() : null,
    });
    this.showStrip();
    this.chips();
    if (!byId('filters').hidden) this.filters.show(this.stacks(), this.event, this.values(), state.filter, this.unit);
    this.showSpread();
    if (state.view === 'flame') this.showFlame();
    if (state.view === 'time') this.showTime();
    if (state.view === 'callers') this.showCallers(name);
    this.showOther();
    this.showOthers();
    byId('reset').disabled = !state.zoom && !state.range;
    byId('flip').hidden = state.view !== 'flame';
    byId('order-pick').hidden = !['flame', 'callers'].includes(state.view);
    byId('order').value = state.heavy ? 'heavy' : 'name';
    byId('invert').hidden = !['flame', 'tree'].includes(state.view) || Boolean(p.head.compare);
    byId('invert').setAttribute('aria-pressed', state.inverted);
    byId('flip').setAttribute('aria-pressed', state.icicle);
    this.describe(null, null);
  }

  // showStrip shows how much is sampled when, of the busiest values of the label whose
  // samples are shown by time.
  showStrip() {
    const { p, state } = this;
    byId('strip').hidden = !p.moments;
    if (!p.moments) return;
    const { event, column, filter, laneKey, steps, sizes } = state;
    const needs = [event, column, [...filter].map(([k, v]) => [k, ...v]), laneKey, innerWidth < 760, steps, sizes && sizes.map(String)], tree = this.stacks();
    const lanes = laneKey < 0 ? [] : this.once('strip lanes', needs, () =>
      timeLanes(p, tree, this.event, this.mask(), laneKey).slice(0, innerWidth < 760 ? fewLanes : mostLanes).map(([value]) =>
        [value, `${p.head.keys[laneKey]} ${labelText(p, laneKey, value)}`])).filter((_, i, all) => all.length > 1);
    const duration = Math.max(p.moments.time.at(-1), 1);
    const kindOf = (row) => this.kinds[tree.frame[tree.rowNode[row]]];
    this.strip.show((bins) => this.once('strip', [needs, bins], () =>
      countTime(p, tree, this.event, column, this.mask(), bins, duration, kindOf, laneKey, lanes, sizeTest(p, this.event, sizes))), duration, p.moments.time.length, state.span);
  }

  // sayNothing tells why there is nothing to see.
  sayNothing() {
    byId('nothing').textContent = this.state.filter.size || this.state.span || this.state.sizes || this.state.steps.length ? 'No samples pass the filter.' : 'There are no samples.';
    byId('nothing').hidden = false;
  }

  showFlame() {
    const { state } = this;
    const sums = this.flame.sums = this.flameSums();
    byId('changes').checked = state.changes;
    this.flame.tint = this.tint();
    const layout = finish(this.flameLayoutIn());
    if (!layout.max) this.sayNothing();
    this.showZoomed(this.flame, layout, sums.tree, state.range);
  }

  * flameLayoutIn() {
    const { heavy, inverted } = this.state, sums = yield* this.flameSumsIn();
    return yield* this.onceIn('layout', [this.needs(), heavy, inverted], () => layOut(this.p, sums, heavy));
  }

  // showZoomed shows a flame graph, of which a node may be zoomed to.
  showZoomed(chart, layout, tree, range) {
    const box = this.state.zoom ? this.boxOf(layout, tree, this.state.zoom) : null;
    this.showOrMove(chart, layout, tree, box ? [layout.x0[box.i], layout.x1[box.i]] : range, box?.level ?? -1, null);
  }

  // showOrMove moves a chart that shows a layout already.
  showOrMove(chart, layout, tree, range, faded, axis) {
    const upward = this.state.view === 'flame' && !this.state.icicle;
    if (chart.layout === layout && chart.upward === upward) {
      chart.moveTo(range ?? [layout.min, layout.max], faded);
      return;
    }
    chart.upward = upward;
    chart.show(layout, tree, { range, faded, axis });
  }

  boxOf(layout, tree, node) {
    const level = tree.depth[node];
    if (level === undefined || level >= layout.levels) return null;
    const i = findNode(layout, node, level);
    return i < 0 ? null : { level, i };
  }

  showTime() {
    const { p, state } = this;
    this.flame.tint = null;
    const lanes = state.laneKey < 0 ? [] : this.once('lanes', [state.laneKey, this.needs()], () =>
      timeLanes(p, this.stacks(), this.event, this.mask(), state.laneKey));
    const lane = lanes.some(([value]) => value === state.lane) ? state.lane : lanes[0]?.[0] ?? null;
    this.fillLanes(lanes, lane);
    const range = state.range ?? state.span;
    const layout = this.once('time', [state.laneKey, lane, this.needs()], () => {
      const mask = this.mask().slice();
      if (state.laneKey >= 0) labelValues(p, state.laneKey).forEach((v, i) => { if (v !== lane) mask[i] = 0; });
      return timeOrder(p, this.tree(), this.event, mask, sizeTest(p, this.event, state.sizes));
    });
    if (!layout.node.length) this.sayNothing();
    this.flame.sums = this.sums();
    this.showOrMove(this.flame, layout, this.tree(), range, -1, formatTime);
  }

  showCallers(name) {
    if (name < 0) {
      byId('function-name').textContent = '';
      for (const chart of [this.callers, this.callees]) chart.show(finish(layOut(this.p, emptySums())), emptySums().tree);
      this.sayNothing();
      return;
    }
    const { self, total } = this.functions();
    const all = this.sums().total[0];
    byId('function-name').replaceChildren(shown(this.p.names[name]), element('small', {
      textContent: `total ${this.amount(total[name], all)} · self ${this.amount(self[name], all)}`,
    }));
    const [up, down] = this.once('callers', [name, this.needs(), this.state.heavy], () =>
      [callers, callees].map((f) => f(this.p, this.sums(), name)).map((sums) => ({ sums, layout: finish(layOut(this.p, sums, this.state.heavy)) })));
    for (const [chart, { sums, layout }] of [[this.callers, up], [this.callees, down]]) {
      chart.sums = sums;
      if (chart.layout === layout) chart.redraw();
      else chart.show(layout, sums.tree, { all: false });
    }
  }

  amount(value, all) { return `${formatValue(value, this.unit)} (${formatShare(value, all)})`; }

  // search finds the names that match, and tells their share.
  search() {
    const { p, state } = this;
    const expression = this.once('expression', state.query, () => compileSearch(state.query));
    const input = byId('search'), output = byId('matched');
    if (document.activeElement !== input) input.value = state.query;
    input.setAttribute('aria-invalid', expression === undefined);
    this.matchOf = !state.query ? null : this.once('matches', state.query, () => {
      const matches = new Uint8Array(p.names.length + p.groupNames.length);
      if (expression) for (let i = 0; i < matches.length; i++) matches[i] = expression.test(p.nameText(i)) ? 1 : 0;
      return matches;
    });
    if (!state.query) output.textContent = '';
    else if (!expression) output.textContent = 'not a regular expression';
    else {
      const sum = this.matched();
      // Of stacks that are cut, what matches may lie in what is left out.
      const { some } = this.functions();
      const found = this.matchOf.subarray(0, p.names.length).reduce((n, hit, i) => n + (hit && some[i] ? 1 : 0), 0);
      output.textContent = `${p.functions ? 'at least ' : ''}${formatShare(sum, this.sums().total[0])} matched`;
      output.title = `${formatValue(sum, this.unit)} in stacks with ${wholeNumber.format(found)} functions that match`;
    }
  }

  // matched is the sum of the stacks with a name that is searched for.
  matched() {
    return this.once('matched', [this.state.query, this.needs()], () => sumMatching(this.p, this.sums(), this.matchOf));
  }

  // pick is a click on a box.
  pick(chart, box, e) {
    if (this.counting) return; // the boxes are not those of what comes
    const node = chart.layout.node[box.i];
    chart.selected = box;
    const again = e.detail > 1;
    if (again && box.level > 0 && !this.ofAll(chart)) {
      this.toCallers(chart, box);
    } else if (!this.ofAll(chart)) {
      chart.moveTo([chart.layout.x0[box.i], chart.layout.x1[box.i]], box.level);
    } else if (this.state.view === 'time') {
      this.set({ range: box.level ? [chart.layout.x0[box.i], chart.layout.x1[box.i]] : null, zoom: 0 }, { push: true });
    } else {
      this.set({ zoom: node, range: null }, { push: true });
    }
    this.describe(chart, box);
  }

  // toCallers shows the callers of what a box shows.
  toCallers(chart, box) {
    const name = this.p.nameOf(chart.tree.frame[chart.layout.node[box.i]]);
    if (name < this.p.names.length) this.set({ view: 'callers', name: this.p.names[name] }, { push: true });
  }

  reset() {
    for (const c of [this.callers, this.callees]) if (c.layout) c.moveTo([c.layout.min, c.layout.max]);
    for (const c of this.charts) c.selected = null;
    this.set({ zoom: 0, range: null }, { push: this.state.zoom !== 0 || this.state.range !== null });
  }

  // described is the box that the foot of the page tells of: the one under the
  // pointer, else the one selected, else the one zoomed to.
  described(chart, box) {
    if (box) return { chart, box };
    const selected = this.charts.find((c) => c.selected && !c.scroller.parentElement.hidden);
    if (selected) return { chart: selected, box: selected.selected };
    if (this.state.view === 'flame' && this.state.zoom && this.flame.layout) {
      const zoomed = this.boxOf(this.flame.layout, this.flame.tree, this.state.zoom);
      if (zoomed) return { chart: this.flame, box: zoomed };
    }
    return null;
  }

  describe(chart, box) {
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
  }

  isGroup({ chart, box }) { return chart.tree.frame[chart.layout.node[box.i]] >= this.p.frameName.length; }

  // origin tells what a frame is, and from where.
  origin(frame) {
    return frame < this.p.frameName.length ? [frameKinds[this.kinds[frame]].text, ...this.place(frame)] : [];
  }

  place(frame) {
    const { p } = this;
    const mapping = p.frameMapping[frame] < 0 ? '' : p.head.mappings[p.frameMapping[frame]];
    return [shown(mapping), shown(p.head.files[p.frameFile[frame]])].filter(Boolean);
  }

  fillPicks() {
    const { p } = this;
    const option = (value, text) => element('option', { value, textContent: text });
    const several = p.events.length > 1;
    byId('value').replaceChildren(...p.events.flatMap((e, i) => e.columns.map((c, j) =>
      option(`${i}.${j}`, shown(`${several ? `${e.name}: ` : ''}${c.type}${c.unit && c.unit !== 'count' ? ` (${c.unit})` : ''}`)))));
    byId('group').replaceChildren(option(-1, 'nothing'), ...p.head.keys.map((k, i) => option(i, shown(k))));
    byId('group-pick').hidden = !p.head.keys.length;
    byId('lane-key').replaceChildren(option(-1, 'all'), ...p.head.keys.map((k, i) => option(i, shown(k))));
    for (const view of ['time', 'heat', 'values', 'samples']) {
      const tab = document.querySelector(`[data-view=${view}]`);
      tab.disabled = !p.moments;
      if (!p.moments) tab.title = 'This profile has no times. Pages made from a recording (perf.data) have.';
    }
    const used = new Set(this.kinds.subarray(0, p.ownFrames));
    byId('legend').replaceChildren(...frameKinds.flatMap((k, i) => used.has(i) && k.id !== 'group'
      ? [element('li', {}, element('i', { className: `kind ${k.id}`, textContent: k.mark }), k.text)] : []));
  }

  // fillLinks shows the pages beside this one, which get what is looked at here, and
  // what else shows the profile.
  fillLinks() {
    const { tabs, tab, links } = this.p.head;
    byId('tabs').hidden = !tabs.length;
    byId('tabs').append(...tabs.map(({ text, address }, i) => {
      const link = element('a', { href: address, textContent: shown(text), title: shown(text) });
      if (i === tab) link.setAttribute('aria-current', 'page');
      link.onclick = () => { link.href = address + location.hash; };
      return link;
    }));
    byId('links').append(...links.map(({ text, address }) => element('a', { href: address, textContent: text })));
  }

  fillLanes(lanes, lane) {
    const all = lanes.reduce((sum, [, n]) => sum + n, 0);
    byId('lane-key').value = this.state.laneKey;
    byId('lane').hidden = this.state.laneKey < 0;
    byId('lane').replaceChildren(...lanes.slice(0, 1000).map(([value, n]) => element('option', {
      value, selected: value === lane, textContent: `${labelText(this.p, this.state.laneKey, value)} — ${formatShare(n, all)}`,
    })));
  }

  chips() {
    const chips = [...this.state.filter].flatMap(([key, values]) => [...values].map((value) => element('button', {
      type: 'button', title: 'Remove this filter', textContent: `${shown(this.p.head.keys[key])}: ${labelText(this.p, key, value)} ✕`,
      onclick: () => {
        const filter = new Map(this.state.filter);
        const left = new Set([...values].filter((v) => v !== value));
        if (left.size) filter.set(key, left);
        else filter.delete(key);
        this.set({ filter, range: null }, { push: true });
      },
    })));
    const { span } = this.state;
    if (span) {
      chips.unshift(element('button', {
        type: 'button', title: 'Count all of the time', textContent: `time: ${formatTime(span[0])} to ${formatTime(span[1])} ✕`,
        onclick: () => this.set({ span: null }, { push: true }),
      }));
    }
    this.state.steps.forEach((step, i) => chips.push(element('button', {
      type: 'button', title: `Undo: ${step.op} ${shown(step.text)}`, textContent: `${stepText(step)} ✕`,
      onclick: () => this.set({ steps: this.state.steps.filter((_, j) => j !== i), zoom: 0, range: null }, { push: true }),
    })));
    const { sizes } = this.state, weighed = this.event.columns.find((c) => c.weighed);
    if (sizes && weighed) {
      chips.unshift(element('button', {
        type: 'button', title: 'Count all values', onclick: () => this.set({ sizes: null }, { push: true }),
        textContent: `values: ${formatValue(sizes[0], weighed.unit)} ${sizes[1] === Infinity ? 'and more' : `to ${formatValue(sizes[1], weighed.unit)}`} ✕`,
      }));
    }
    const command = chips.length || this.matchOf ? this.command() : '';
    if (command) chips.push(this.commandChip(command));
    byId('chips').replaceChildren(...chips);
    byId('chips').hidden = !chips.length;
  }

  // commandChip copies the command that selects the same.
  commandChip(command) {
    return element('button', {
      type: 'button', className: 'command', title: `Copy: ${command}`, textContent: 'Copy the command',
      onclick: () => this.copy(command, 'The command that selects the same:'),
    });
  }

  theme() { followTheme(() => [...this.charts, this.strip, this.heat]); }
}
