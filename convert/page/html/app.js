// The page: keeps the state, computes what it needs, and has the parts show it.

/** @type {(id: string) => any} */
const byId = (id) => document.getElementById(id);

/** @type {(view?: string) => NodeListOf<HTMLButtonElement>} */
const viewTabs = (view) => document.querySelectorAll(view ? `[data-view=${view}]` : '[role=tab]');

class App {
  /** @type {Profile} */ p;
  /** @type {State} */ state;

  constructor(p, blank) {
    this.blank = blank; // see blankPage
    document.querySelector('h1').title = p.head.title; // of which there is little room
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
      placeOf: (name) => this.placeOf(name),
      onPick: (name) => this.set({ view: 'callers', name: this.p.names[name] }, { push: true }),
      onSort: (sort) => this.set({ sort, ascending: this.state.sort === sort && !this.state.ascending }),
    });
    this.background = new Background();
    this.strip = new TimeStrip(byId('strip'), (span, onTheWay) => this.set({ span, range: null }, { push: !onTheWay }),
      () => this.set({ lanes: !this.state.lanes }, { push: true }));
    this.callTree = new CallTree(byId('tree'), this);
    this.sampleList = new SampleList(byId('samples'), this);
    this.heat = new HeatMap(byId('heat'), (span) => this.set({ span, range: null }, { push: true }));
    this.filters = new FilterPanel(byId('filters'), p, (filter) => this.set({ filter, range: null }, { push: true }));
    this.fillPicks();
    this.fillLinks();
    if (p.head.compare) {
      this.changed = new Set(p.head.compare.rows.map((r) => p.names.indexOf(r.function)));
      fillCompare(byId('verdict'), p.head.compare, (name) => this.set({ view: 'callers', name }, { push: true }));
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

  get event() { return this.p.events[this.state.event]; }

  get unit() { return this.event.columns[this.state.column].unit; }

  render() {
    const { state } = this;
    this.search();
    viewTabs('values')[0].disabled = !this.hasView('values');
    this.markTab();
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
      times: state.view === 'functions' && p.moments ? finish(this.timesIn()) : null,
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
    for (const id of ['changes-pick', 'sides-pick']) byId(id).hidden = state.view !== 'flame' || !p.head.compare;
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
    this.strip.show((bins) => finish(this.stripIn(bins)), Math.max(p.moments.time.at(-1), 1), p.moments.time.length, state.span, state.lanes);
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
    const { state } = this, lanes = finish(this.lanesIn());
    this.flame.tint = null;
    this.fillLanes(lanes, this.laneOf(lanes));
    const range = state.range ?? state.span, layout = finish(this.timeIn());
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
    const [up, down] = finish(this.callersIn(name));
    for (const [chart, { sums, layout }] of [[this.callers, up], [this.callees, down]]) {
      chart.sums = sums;
      if (chart.layout === layout) chart.redraw();
      else chart.show(layout, sums.tree, { all: false });
    }
  }

  amount(value, all) { return `${formatValue(value, this.unit)} (${formatShare(value, all)})`; }

  markTab() { for (const tab of viewTabs()) tab.setAttribute('aria-selected', String(tab.dataset.view === this.state.view)); }

  // hasView tells whether there can be something to see in a view.
  hasView(view) {
    if (view === 'values') return this.event.columns.some((c) => c.weighed);
    return Boolean(this.p.moments) || !['time', 'heat', 'samples'].includes(view);
  }

  // search finds the names that match, and tells their share.
  search() {
    const { p, state } = this;
    const from = fromOf(state.query), expression = this.once('expression', state.query, () => compileSearch(from ?? state.query));
    const input = byId('search'), output = byId('matched');
    if (document.activeElement !== input) input.value = state.query;
    input.setAttribute('aria-invalid', expression === undefined);
    this.matchOf = !state.query || expression === null ? null : this.once('matches', state.query, () => {
      const matches = new Uint8Array(p.names.length + p.groupNames.length);
      const text = from === null ? (i) => p.nameText(i) : (i) => i < p.names.length ? this.placeOf(i) : '';
      if (expression) for (let i = 0; i < matches.length; i++) matches[i] = expression.test(text(i)) ? 1 : 0;
      return matches;
    });
    if (!this.matchOf) output.textContent = '';
    else if (!expression) output.textContent = 'not a regular expression';
    else {
      const sum = this.matchedSoon();
      if (sum === undefined) {
        output.textContent = '…';
        return;
      }
      // Of stacks that are cut, what matches may lie in what is left out.
      const { some } = this.functions();
      const found = this.matchOf.subarray(0, p.names.length).reduce((n, hit, i) => n + (hit && some[i] ? 1 : 0), 0);
      output.textContent = `${p.functions ? 'at least ' : ''}${formatShare(sum, this.sums().total[0])} matched`;
      output.title = `${formatValue(sum, this.unit)} in stacks with ${counted(found, 'matching function')}`;
    }
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

  fillPicks() {
    const { p } = this;
    const option = (value, text) => element('option', { value, textContent: text });
    const several = p.events.length > 1;
    byId('value').replaceChildren(...p.events.flatMap((e, i) => e.columns.map((c, j) =>
      option(`${i}.${j}`, shown(`${several && e.name !== c.type ? `${e.name}: ` : ''}${c.type}${c.unit && c.unit !== 'count' ? ` (${c.unit})` : ''}`)))));
    byId('group').replaceChildren(option(-1, 'nothing'), ...p.head.keys.map((k, i) => option(i, shown(k))));
    byId('group-pick').hidden = !p.head.keys.length;
    byId('lane-key').replaceChildren(option(-1, 'all'), ...p.head.keys.map((k, i) => option(i, shown(k))));
    for (const view of ['time', 'heat', 'values', 'samples']) {
      const [tab] = viewTabs(view);
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

  theme() { followTheme(() => [...this.charts, this.strip, this.heat]); }
}
