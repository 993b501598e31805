// What the page does with what is pointed at: steps, their undoing, texts to copy.

// For who looks at the page from the browser's console.
Object.assign(App.prototype, { exactly, formatValue });

App.prototype.addStep = function addStep(step) {
  this.set({ steps: [...this.state.steps, step], zoom: 0, range: null }, { push: true });
};

App.prototype.undoStep = function undoStep() {
  if (this.state.steps.length) this.set({ steps: this.state.steps.slice(0, -1), zoom: 0, range: null }, { push: true });
};

// targetAt is the frame of a box, null of what is none.
App.prototype.targetAt = function targetAt(chart, box) {
  if (!box || chart.all && box.level === 0) return null;
  const node = chart.layout.node[box.i];
  return { chart, node, frame: chart.tree.frame[node] };
};

// target is the box under the pointer, else the one selected.
App.prototype.target = function target() {
  for (const which of ['hovered', 'selected']) {
    const chart = this.charts.find((c) => c[which] && c.canvas.offsetWidth);
    if (chart) return this.targetAt(chart, chart[which]);
  }
  return null;
};

App.prototype.openMenu = function openMenu(target, x, y) {
  this.tooltip.hide();
  if (target) this.menu.show(actionsOf(this, target), x, y, target.chart?.canvas ?? document.activeElement);
};

// listenPointing has the charts and the table open the menu: by the second button, by a finger
// that rests, by the keys for it.
App.prototype.listenPointing = function listenPointing() {
  for (const chart of this.charts) {
    const at = (e) => this.targetAt(chart, chart.boxAt(e.offsetX, e.offsetY));
    let resting = null;
    const rest = () => clearTimeout(resting);
    chart.canvas.addEventListener('contextmenu', (e) => {
      e.preventDefault();
      if (e.button === 2 || e.pointerType === 'touch') this.openMenu(at(e), e.clientX, e.clientY);
    });
    chart.canvas.addEventListener('pointerdown', (e) => {
      rest();
      const target = at(e), { clientX, clientY } = e;
      if (e.pointerType === 'touch') {
        resting = setTimeout(() => {
          chart.drag = null;
          this.openMenu(target, clientX, clientY);
        }, longPress);
      }
    });
    for (const type of ['pointerup', 'pointercancel', 'pointermove']) {
      chart.canvas.addEventListener(type, (e) => { if (type !== 'pointermove' || Math.abs(e.movementX) + Math.abs(e.movementY) > 4) rest(); });
    }
  }
  for (const id of ['table', 'tree', 'samples']) byId(id).addEventListener('contextmenu', (e) => {
    const row = e.target.closest('[data-name]');
    if (!row) return;
    e.preventDefault();
    this.openMenu(this.rowTarget(row), e.clientX, e.clientY);
  });
};

App.prototype.rowTarget = function rowTarget(row) { return { frame: this.frameOfName[row.dataset.name] }; };

// menuKey opens the menu for what is selected, or does what a key of it means; it tells
// whether it did.
App.prototype.menuKey = function menuKey(e) {
  const row = document.activeElement?.closest?.('[data-name]');
  const target = row ? this.rowTarget(row) : this.target();
  if (!target || target.frame < 0) return false;
  const opens = e.key === 'ContextMenu' || e.key === 'F10' && e.shiftKey || e.key === 'm';
  if (opens) {
    const box = row ?? target.chart.outline;
    const r = (box.hidden ? target.chart.canvas : box).getBoundingClientRect();
    this.openMenu(target, r.x + Math.min(r.width, 60) / 2, r.bottom);
    return true;
  }
  const action = actionsOf(this, target).find(({ key }) => key === e.key);
  action?.run();
  return Boolean(action);
};

// command is the command line that selects the same, '' where there is none.
App.prototype.command = function command() { return selectCommand(this.p, this.state); };

App.prototype.copy = async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    this.say('Copied');
  } catch {
    prompt(what, text);
  }
};

// say tells something for a moment.
App.prototype.say = function say(text) {
  const note = byId('note');
  note.textContent = text;
  note.hidden = false;
  clearTimeout(this.noting);
  this.noting = setTimeout(() => { note.hidden = true; }, 2000);
};

// stackText is the names from the root to a box, a line each.
App.prototype.stackText = function stackText({ chart, node }) {
  const { parent, frame } = chart.tree, lines = [];
  for (let i = node; i !== 0 || !chart.all; i = parent[i]) {
    lines.push(shown(this.p.nameText(this.p.nameOf(frame[i]))));
    if (i === 0) break;
  }
  return (chart === this.callers ? lines : lines.reverse()).join('\n');
};

// tell shows the tooltip of a box.
App.prototype.tell = function tell(chart, box, e) {
  const target = e && !this.menu.open && !this.counting ? this.targetAt(chart, box) : null;
  if (!target) {
    this.tooltip.hide();
    return;
  }
  const { p } = this, { frame, node } = target;
  const facts = [];
  if (this.state.view !== 'time') {
    const { self, total } = chart.sums;
    const all = this.sums().total[0], up = total[chart.tree.parent[node]];
    if (p.head.compare && this.ofAll(chart)) {
      const [both, difference] = this.differenceOf(node);
      facts.push(['base → new', both], ['difference', difference]);
    } else {
      facts.push(['total', this.amount(total[node], all)], ['self', this.amount(self[node], all)]);
    }
    if (chart.tree.parent[node] !== 0 && node !== 0) facts.push(['of parent', formatShare(total[node], up)]);
  } else {
    facts.push(['time', `${formatTime(chart.layout.x1[box.i] - chart.layout.x0[box.i])} from ${formatTime(chart.layout.x0[box.i])}`]);
  }
  if (frame < p.frameName.length) {
    facts.push(['kind', frameKinds[this.kinds[frame]].text]);
    const file = p.head.files[p.frameFile[frame]], mapping = p.frameMapping[frame];
    if (file) facts.push(['source', shown(file) + (p.frameLine[frame] ? `:${p.frameLine[frame]}` : '')]);
    if (mapping >= 0) {
      facts.push(['mapping', shown(p.head.mappings[mapping])]);
      if (p.head.buildids[mapping]) facts.push(['build id', p.head.buildids[mapping]]);
    }
  }
  this.tooltip.show(shown(p.nameText(p.nameOf(frame))), facts, e.clientX, e.clientY);
};
