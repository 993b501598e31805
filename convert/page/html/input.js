// Buttons, keys, and the profile's own words; then the start of the page.

App.prototype.listen = function listen() {
  window.addEventListener('popstate', () => {
    this.state = stateOf(this.p, location.hash);
    this.show();
  });
  for (const tab of viewTabs()) {
    tab.onclick = () => this.set({ view: tab.dataset.view, range: null, zoom: 0 }, { push: true });
  }
  byId('value').onchange = (e) => {
    const [event, column] = e.target.value.split('.').map(Number);
    this.set({ event, column, range: null }, { push: true });
  };
  byId('group').onchange = (e) => this.set({ group: Number(e.target.value), zoom: 0, range: null }, { push: true });
  byId('lane-key').onchange = (e) => this.set({ laneKey: Number(e.target.value), lane: null, range: null }, { push: true });
  byId('lane').onchange = (e) => this.set({ lane: Number(e.target.value) }, { push: true });
  byId('filter').onclick = () => this.toggleFilters(byId('filters').hidden);
  byId('changes').onchange = (e) => this.set({ changes: e.target.checked }, { push: true });
  byId('sides').onchange = (e) => this.set({ sides: e.target.checked }, { push: true });
  byId('order').onchange = (e) => this.set({ heavy: e.target.value === 'heavy' }, { push: true });
  byId('invert').onclick = () => this.set({ inverted: !this.state.inverted, zoom: 0, range: null }, { push: true });
  byId('flip').onclick = () => this.flip();
  byId('reset').onclick = () => this.reset();
  byId('about').onclick = () => this.about();
  byId('save').onclick = (e) => this.saveMenu(e.currentTarget);
  byId('search').oninput = (e) => this.set({ query: e.target.value });
  document.addEventListener('keydown', (e) => this.key(e));
  this.listenPointing();
  document.addEventListener('pointerdown', (e) => {
    if (!byId('filters').contains(e.target) && e.target !== byId('filter')) this.toggleFilters(false);
  });
};

App.prototype.flip = function flip() { this.set({ icicle: !this.state.icicle }); };

App.prototype.toggleFilters = function toggleFilters(open) {
  if (byId('filters').hidden !== open) return;
  byId('filters').hidden = !open;
  byId('filter').setAttribute('aria-expanded', open);
  if (open) this.filters.show(this.stacks(), this.event, this.values(), this.state.filter, this.unit);
};

App.prototype.key = function key(e) {
  const input = byId('search');
  const typing = e.target instanceof HTMLInputElement || e.target instanceof HTMLSelectElement;
  if ((e.ctrlKey || e.metaKey) && e.key === 'f' || e.key === '/' && !typing) {
    e.preventDefault();
    input.focus();
    input.select();
    return;
  }
  if (e.key === 'Escape') {
    this.escape();
    return;
  }
  if (typing || e.ctrlKey || e.metaKey || e.altKey || byId('about-dialog').open) return;
  const chart = this.charts.find((c) => c.canvas === document.activeElement)
    ?? (this.state.view === 'callers' ? this.callees : this.flame);
  const up = chart.upward ? 'in' : 'out', down = chart.upward ? 'out' : 'in';
  const walk = { ArrowUp: up, ArrowDown: down, ArrowLeft: 'left', ArrowRight: 'right' }[e.key];
  const onButton = e.target instanceof HTMLButtonElement;
  if (walk && !['table', 'tree', 'samples', 'values'].some((id) => byId(id).contains(e.target))) {
    e.preventDefault();
    chart.walk(walk);
  } else if (e.key === 'Enter' && !onButton && chart.selected) {
    this.pick(chart, chart.selected, e);
  } else if (e.key === 'u') {
    this.undoStep();
  } else if (e.key === 'i') {
    this.flip();
  } else if (e.key === '?') {
    this.about();
  } else if (e.key === 'o') {
    const command = this.command();
    if (command) this.copy(command, 'The command that selects the same:');
  } else if (this.menuKey(e)) {
    e.preventDefault();
  } else if (e.key >= '1' && e.key <= '8') {
    viewTabs()[e.key - 1].click();
  }
};

// escape takes back one thing: an open panel, the search, the zoom.
App.prototype.escape = function escape() {
  const input = byId('search');
  if (!byId('filters').hidden) {
    this.toggleFilters(false);
  } else if (document.activeElement === input) {
    input.blur();
    this.set({ query: '' });
  } else if (this.state.zoom || this.state.range || this.charts.some((c) => c.selected)) {
    this.reset();
  } else if (this.state.query) {
    this.set({ query: '' });
  } else if (this.state.sizes) {
    this.set({ sizes: null }, { push: true });
  } else if (this.state.steps.length) {
    this.undoStep();
  } else if (this.state.span) {
    this.set({ span: null }, { push: true });
  }
};

const keysHelp = [
  ['/ or Ctrl-F', 'search for functions, from:… for files and lines'], ['Escape', 'close, clear the search, zoom out'], ['arrows', 'go from box to box'],
  ['Enter', 'zoom to the box'], ['m', 'what can be done with the box or the row: f v b x h r l c s y t g do it'],
  ['u', 'undo the last of these'], ['o', 'copy the command that selects the same'], ['i', 'flip'], ['1 … 8', 'views'],
  ['Ctrl-wheel, drag', 'zoom and move freely'], ['drag over the times', 'count only that part; arrows, Shift, + and - there, and the wheel'],
];

App.prototype.about = function about() {
  const { head } = this.p;
  const dialog = byId('about-dialog');
  const facts = [
    ...head.events.map((e) => `${e.name}: ${wholeNumber.format(e.rows)} different stacks and labels`),
    head.start ? `started ${new Date(head.start).toLocaleString()}` : '',
    head.duration ? `lasted ${formatTime(head.duration)}` : '',
    ...head.comments,
  ].filter(Boolean).sort((a, b) => b.startsWith('warning: ') - a.startsWith('warning: '));
  dialog.replaceChildren(
    element('form', { method: 'dialog' }, element('button', { textContent: '✕', title: 'Close' })),
    element('h2', { textContent: 'About this profile' }),
    element('ul', {}, ...facts.map((text) => element('li', {
      textContent: shown(text), className: text.startsWith('warning: ') ? 'warning' : '',
    }))),
    element('h2', { textContent: 'Keys' }),
    element('dl', {}, ...keysHelp.flatMap(([keys, what]) => [element('dt', { textContent: keys }), element('dd', { textContent: what })])),
  );
  if (!dialog.open) dialog.showModal();
};

async function start() {
  const blank = blankPage(), data = byId('data');
  try {
    if (typeof DecompressionStream === 'undefined') throw new Error('this browser is too old: it has no DecompressionStream');
    const bytes = await inflate(data.textContent);
    data.remove();
    const kprof = new App(decodeProfile(bytes), blank);
    Object.assign(window, { kprof }); // for whoever wants to look at the numbers from the browser's console
    byId('loading').remove();
    if (kprof.p.head.comments.some((c) => c.startsWith('warning: '))) byId('about').classList.add('warning');
  } catch (e) {
    byId('loading').textContent = `The profile cannot be shown: ${e.message}`;
    throw e;
  }
}

start();
