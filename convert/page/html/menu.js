// What can be done with a box or a row: the menu at the pointer, its keys, and the tooltip.

const longPress = 500; // ms until a finger that rests opens the menu

// actionsOf lists what can be done with a frame: {key, text, run}.
function actionsOf(app, target) {
  const { p } = app, { frame } = target;
  if (frame >= p.frameName.length) return groupActions(app, frame);
  const name = p.names[p.frameName[frame]], text = shown(name);
  const step = (key, op, words) => ({ key, text: words, run: () => app.addStep({ op, text: exactly(name) }) });
  const mapping = frame < p.ownFrames && p.frameMapping[frame] >= 0 ? p.head.mappings[p.frameMapping[frame]] : '';
  const actions = [
    step('f', 'focus', 'Only stacks with it'),
    step('v', 'show-from', 'Only it and what it calls'),
    step('b', 'show-to', 'Only it and its callers'),
    step('x', 'ignore', 'Leave out stacks with it'),
    step('h', 'hide', 'Merge into its callers'),
    step('r', 'collapse-recursion', 'Collapse its recursion'),
  ];
  if (mapping && !p.frameKernel[frame]) actions.push({ key: 'l', text: `Collapse ${shown(mapping)}`, run: () => app.addStep({ op: 'collapse', text: mapping }) });
  if (p.frameKernel[frame]) actions.push({ key: 'l', text: 'Collapse the kernel', run: () => app.addStep({ op: 'collapse', text: kernelMapping }) });
  actions.push({ key: 'c', text: 'Callers and callees', run: () => app.set({ view: 'callers', name }, { push: true }) },
    { key: 's', text: 'Search for it', run: () => app.set({ query: exactly(name) }, { push: true }) },
    { key: 'y', text: 'Copy its name', run: () => app.copy(text, 'The name of the function:') });
  if (target.chart) actions.push({ key: 't', text: 'Copy its stack', run: () => app.copy(app.stackText(target), 'The stack, outermost first:') });
  const source = sourceURL(p, frame), lines = linesURL(p, frame);
  if (source) actions.push({ key: 'g', text: 'Look at its source', run: () => window.open(source, '_blank', 'noopener') });
  if (lines) actions.push({ key: 'p', text: 'Its lines, in pprof', run: () => window.open(lines, '_blank', 'noopener') });
  const command = app.command();
  if (command) actions.push({ key: 'o', text: 'Copy the command', run: () => app.copy(command, 'The command that selects the same:') });
  return Object.assign(actions, { title: text });
}

// sourceURL is where the source of a frame's function is, '' where that is not known.
function sourceURL(p, frame) {
  const { prefix, url } = p.head.source ?? {}, file = p.head.files[p.frameFile[frame]];
  if (!file || !file.startsWith(prefix) || !/^https?:/.test(url)) return '';
  const path = [];
  for (const part of file.slice(prefix.length).replaceAll('\\', '/').split('/')) {
    if (part === '..') path.pop();
    else if (part && part !== '.') path.push(encodeURIComponent(part));
  }
  return url.replaceAll('{file}', () => path.join('/')).replaceAll('{line}', () => String(p.frameLine[frame] || 1));
}

// linesURL is where pprof lists the lines of a frame's function, '' where it does not.
function linesURL(p, frame) {
  const link = p.head.links.find(({ text }) => text === 'pprof');
  return link && p.frameFile[frame] && !p.head.live ? `${link.address}source?f=${encodeURIComponent(exactly(p.names[p.frameName[frame]]))}` : '';
}

// groupActions is what can be done with the value of a label.
function groupActions(app, frame) {
  const { p } = app;
  let value = frame - p.frameName.length, key = 0;
  while (value >= p.head.values[key].length) value -= p.head.values[key++].length;
  const text = `${p.head.keys[key]} ${labelText(p, key, value)}`;
  return Object.assign([
    { key: 'f', text: `Only ${text}`, run: () => app.set({ filter: new Map(app.state.filter).set(key, new Set([value])), zoom: 0, range: null }, { push: true }) },
    { key: 'y', text: 'Copy it', run: () => app.copy(shown(p.head.values[key][value]), 'The value:') },
  ], { title: text });
}

// Menu is the menu at a point of the window.
class Menu {
  constructor(host) {
    this.host = host;
    host.setAttribute('role', 'menu');
    host.addEventListener('keydown', (e) => this.key(e));
    host.addEventListener('contextmenu', (e) => e.preventDefault());
    document.addEventListener('pointerdown', (e) => { if (!host.contains(e.target)) this.close(); });
  }

  get open() { return !this.host.hidden; }

  show(actions, x, y, back) {
    this.back = back;
    this.host.setAttribute('aria-label', actions.title);
    this.host.replaceChildren(element('strong', { textContent: actions.title }), ...actions.map(({ key, text, run }) => {
      const item = element('button', { type: 'button', tabIndex: -1 }, element('span', { textContent: text }), element('kbd', { textContent: key }));
      item.setAttribute('role', 'menuitem');
      item.dataset.key = key;
      item.onclick = () => {
        this.close();
        run();
      };
      return item;
    }));
    this.host.hidden = false;
    const { offsetWidth, offsetHeight } = this.host;
    this.host.style.left = `${Math.max(Math.min(x, innerWidth - offsetWidth - 4), 4)}px`;
    this.host.style.top = `${Math.max(Math.min(y, innerHeight - offsetHeight - 4), 4)}px`;
    this.host.querySelector('button').focus();
  }

  close() {
    if (!this.open) return;
    this.host.hidden = true;
    this.back?.focus?.({ preventScroll: true });
  }

  key(e) {
    const items = [...this.host.querySelectorAll('button')], at = items.indexOf(document.activeElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[e.key];
    if (to !== undefined) items.at(to % items.length).focus();
    else if (e.key === 'Escape' || e.key === 'Tab') this.close();
    else if (e.key.length === 1 && !e.ctrlKey && !e.metaKey && !e.altKey) items.find((item) => item.dataset.key === e.key)?.click();
    else return;
    if (e.key !== 'Enter' && e.key !== ' ') e.preventDefault();
    e.stopPropagation();
  }
}

// Tooltip tells at the pointer what is under it.
class Tooltip {
  constructor(host) { this.host = host; }

  // show shows facts, [[what, text]], below a title.
  show(title, facts, x, y) {
    this.host.replaceChildren(element('strong', { textContent: title }),
      element('dl', {}, ...facts.flatMap(([what, text]) => [element('dt', { textContent: what }), element('dd', { textContent: text })])));
    this.host.hidden = false;
    const { offsetWidth, offsetHeight } = this.host;
    const below = y + 20 + offsetHeight < innerHeight;
    this.host.style.left = `${Math.max(Math.min(x + 12, innerWidth - offsetWidth - 4), 4)}px`;
    this.host.style.top = `${Math.max(below ? y + 20 : y - offsetHeight - 10, 4)}px`;
  }

  hide() { this.host.hidden = true; }
}
