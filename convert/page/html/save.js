// Saving what is selected: stacks as folded text or for pprof, the flame graph as SVG or as it is
// drawn, or all of it as a page.

// foldedText is a Blob: the stacks of sums, a line each, with names from the root on and their
// value.
function* foldedText(p, { tree, self }) {
  const parts = [], stack = [], names = Array.from({ length: frameCount(p) }, (_, f) => p.nameText(p.nameOf(f)).replace(/[;\r\n\0]/g, ':'));
  for (let i = 1; i < self.length; yield) {
    const lines = [];
    for (; i < self.length && lines.length < sliceRows; i++) {
      if (!self[i]) continue;
      stack.length = 0;
      for (let node = i; node !== 0; node = tree.parent[node]) stack.push(names[tree.frame[node]]);
      lines.push(`${stack.reverse().join(';')} ${BigInt(toInt64(self[i]))}\n`);
    }
    parts.push(new Blob([lines.join('')]));
  }
  return new Blob(parts, { type: 'text/plain' });
}

const svgWidth = 1200, svgLeast = 0.3; // pixels

// svgText is a layout as a picture of its own, without boxes too narrow to be seen.
function* svgText(app, { layout, tree, sums }) {
  const { p } = app, { levels, start, node, x0, x1, max } = layout, k = svgWidth / (max || 1), height = levels * rowHeight + 2;
  const escape = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`).replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd]/g, '\ufffd');
  const boxes = [];
  for (let level = 0; level < levels; level++) {
    const y = app.state.icicle ? level * rowHeight : height - (level + 1) * rowHeight;
    const draw = (i) => {
      const width = (x1[i] - x0[i]) * k, frame = tree.frame[node[i]];
      if (width < svgLeast) return;
      const name = level ? shown(p.nameText(p.nameOf(frame))) : 'all', letters = Math.floor((width - 6) / 7);
      const color = app.flame.colors.fills[(level ? app.kinds[frame] : groupKind) * shades + (level ? app.shades[frame] : middleShade)];
      const text = letters < 3 ? '' : `<text x="${(x0[i] * k + 3).toFixed(1)}" y="${y + 13}">${escape(name.length > letters ? `${name.slice(0, letters - 1)}…` : name)}</text>`;
      boxes.push(`<g><title>${escape(`${name}: ${app.amount(sums.total[node[i]], sums.total[0])}`)}</title><rect x="${(x0[i] * k).toFixed(2)}" y="${y}" width="${Math.max(width - 0.5, 0.2).toFixed(2)}" height="${rowHeight - 1}" fill="${cssColor(color)}"/>${text}</g>`);
    };
    yield* slices(start[level], start[level + 1], (i, to) => { for (; i < to; i++) draw(i); });
  }
  const space = ['http:', '', 'www.w3.org', '2000', 'svg'].join('/');
  return `<svg xmlns="${space}" viewBox="0 0 ${svgWidth} ${height}" width="${svgWidth}" height="${height}" font-family="monospace" font-size="11.5">\n${boxes.join('\n')}\n</svg>\n`;
}

// saveAs has the browser keep a file.
function saveAs(name, blob) {
  const link = element('a', { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// save has the browser keep a file, when the promise of its Blob is kept.
App.prototype.save = async function save(name, blob) {
  this.say(`Saving ${name} …`);
  try {
    saveAs(name, await blob);
    this.say(`Saved ${name}`);
  } catch (e) {
    this.say(`Not saved: ${e.message}`);
    throw e;
  }
};

// saveMenu offers what can be saved.
App.prototype.saveMenu = function saveMenu(button) {
  const { title, compare } = this.p.head;
  const name = title.replace(/[^\w.-]+/g, '_');
  const actions = [ // speedscope opens nothing that has values below 0, as a comparison has
    { key: 'f', text: 'Stacks, folded', run: () => this.save(`${name}.folded`, this.selectedStacks()) },
    { key: 'b', text: compare ? 'Profile for pprof' : 'Profile for pprof and speedscope', run: () => this.save(`${name}.pb.gz`, this.selectedProfile()) },
    { key: 'h', text: 'This page, with that alone', run: () => this.save(`${name}.selected.html`, this.selectedPage()) },
  ];
  if (this.state.view === 'flame') {
    actions.push({ key: 's', text: 'Flame graph, SVG', run: () => this.save(`${name}.svg`, this.selectedPicture()) },
      { key: 'p', text: 'What is to be seen of it, PNG', run: () => this.flame.canvas.toBlob((blob) => saveAs(`${name}.png`, blob)) });
  }
  const command = selectCommand(this.p, { ...this.state, query: '' }); // as what is saved, which has all stacks
  if (command) {
    const convert = command.replace(/^kprof report /, 'kprof convert ');
    for (const [key, ending, words] of [['o', 'pb.gz', 'pprof, with addresses'], ['x', 'firefox.json', 'the Firefox Profiler']]) {
      actions.push({ key, text: `Copy the command for ${words}`, run: () => this.copy(`${convert} -o ${shellWord(`${name}.${ending}`)}`, 'The command:') });
    }
  }
  const r = button.getBoundingClientRect();
  this.menu.show(Object.assign(actions, { title: 'Save what is selected' }), r.x, r.bottom + 4, button);
};

// asNow is the page with what is selected now, whatever is meanwhile.
App.prototype.asNow = function asNow() {
  const { p, memory, kinds, shades } = this;
  return Object.assign(Object.create(this), { state: { ...this.state }, p, memory, kinds, shades });
};

// What is selected, each a promise of a Blob: folded stacks, a profile, the flame graph, and a page.
App.prototype.selectedStacks = async function selectedStacks() {
  const now = this.asNow();
  return inSlices(function* text() { return yield* foldedText(now.p, yield* now.sumsIn()); }());
};

App.prototype.selectedProfile = async function selectedProfile() {
  return compress(await inSlices(pprofOf(this.asNow())));
};

App.prototype.selectedPicture = async function selectedPicture() {
  const { layout, tree, sums } = this.flame;
  return new Blob([await inSlices(svgText(this.asNow(), { layout, tree, sums }))], { type: 'image/svg+xml' });
};

App.prototype.selectedPage = async function selectedPage() {
  const title = `${this.p.head.title} (selected)`;
  return pageOf(this.blank, title, await inSlices(selectedData(this.asNow(), title)));
};
