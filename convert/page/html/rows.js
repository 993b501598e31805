// Lists of rows of which only those in view are elements: functions, the call tree, and the samples.

const rowSize = 26;

// Elements have a largest height (33,554,400 pixels of the screen in Chrome, 17,895,697 CSS pixels in
// Firefox), and a list of samples may have more. A longer one is on a body of maxHeight, on which it
// moves: it has pages of pageHeight, and rows are offset pixels higher than in the whole list, more
// on each page than on the one before. So little steps are as long as they are in a list that is
// not moved, the bar at the side is where the row is in the list, and both ends can be reached.
const maxHeight = 4_000_000, pageHeight = 40_000;
const farScroll = 2000; // pixels; a longer step is one of the bar, a pixel of which is more than that

class RowList {
  // make(i) makes the element of a row; head is the row of headings.
  constructor(host, label, role, head, make) {
    this.make = make;
    this.count = 0;
    this.at = 0; // the row that keys go on from
    this.offset = 0;
    this.top = 0; // where the scroller was last
    this.body = element('div', { className: 'rows' });
    this.scroller = element('div', { className: 'table-scroller', tabIndex: -1 }, this.body);
    this.scroller.setAttribute('role', role);
    this.summary = element('div', { className: 'table-summary' });
    this.table = element('div', { className: 'table' }, head, this.scroller, this.summary);
    host.append(this.table);
    host.addEventListener('keydown', (e) => {
      if (!this.go(e)) return;
      e.preventDefault();
      e.stopPropagation();
    });
    this.scroller.addEventListener('scroll', () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.scroller);
  }

  show(count, summary) {
    const y = this.scroller.scrollTop + this.offset;
    this.count = count;
    this.at = Math.min(this.at, Math.max(count - 1, 0));
    this.summary.textContent = summary;
    this.body.style.height = `${Math.min(count * rowSize, maxHeight)}px`;
    this.from = this.to = -1;
    if (this.offset || count * rowSize > maxHeight) this.scroll(Math.min(y, count * rowSize));
    this.draw();
  }

  // offsetAt is the offset of rows where y, of the whole list, is at the top.
  offsetAt(y) {
    const height = this.count * rowSize, last = Math.floor(height / pageHeight) - 1;
    return height > maxHeight ? Math.round(Math.min(Math.floor(y / pageHeight), last) / last * (height - maxHeight)) : 0;
  }

  // scroll has y, of the whole list, at the top.
  scroll(y) {
    const offset = this.offsetAt(y);
    if (offset !== this.offset) this.from = this.to = -1;
    this.offset = offset;
    this.scroller.scrollTop = y - offset;
    this.top = this.scroller.scrollTop;
  }

  // follow makes what the reader scrolled a place in the whole list.
  follow() {
    const { scrollTop, clientHeight } = this.scroller, far = Math.abs(scrollTop - this.top) > Math.max(farScroll, clientHeight);
    this.top = scrollTop;
    const share = scrollTop / (maxHeight - clientHeight);
    const offset = this.offsetAt(far ? share * (this.count * rowSize - clientHeight) : scrollTop + this.offset);
    if (offset === this.offset) return;
    if (far) {
      this.offset = offset;
      this.from = this.to = -1;
    } else this.scroll(scrollTop + this.offset);
  }

  draw() {
    if (!this.scroller.clientHeight) return;
    this.follow();
    const { scrollTop, clientHeight } = this.scroller, y = scrollTop + this.offset;
    const from = Math.max(Math.floor(y / rowSize) - 8, 0);
    const to = Math.min(Math.ceil((y + clientHeight) / rowSize) + 8, this.count);
    if (from === this.from && to === this.to) return;
    this.from = from;
    this.to = to;
    const rows = [];
    for (let i = from; i < to; i++) {
      const row = this.make(i);
      row.style.top = `${i * rowSize - this.offset}px`;
      row.dataset.row = i;
      row.tabIndex = i === this.at ? 0 : -1;
      rows.push(row);
    }
    const focused = this.body.contains(document.activeElement);
    this.body.replaceChildren(...rows);
    if (focused) this.body.querySelector(`[data-row="${this.at}"]`)?.focus({ preventScroll: true });
    // Where the row of the keys is out of sight, they begin with the first that is not.
    if (!(this.at >= from && this.at < to) && rows.length) rows[Math.min(8, rows.length - 1)].tabIndex = 0;
  }

  focus(i) {
    this.at = i;
    const row = this.reveal(i);
    for (const other of this.body.children) other.tabIndex = other === row ? 0 : -1;
    row?.focus();
  }

  // go goes to another row by a key, and tells whether it is one for that.
  go(e) {
    const i = Number(e.target.dataset.row ?? this.at), last = this.count - 1;
    const to = { ArrowDown: i + 1, ArrowUp: i - 1, Home: 0, End: last, PageDown: i + 20, PageUp: i - 20 }[e.key];
    if (to === undefined || last < 0) return false;
    this.focus(Math.min(Math.max(to, 0), last));
    return true;
  }

  // reveal scrolls until a row can be seen, and returns its element.
  reveal(i) {
    const { scrollTop, clientHeight } = this.scroller, top = scrollTop + this.offset, y = i * rowSize;
    if (y < top) this.scroll(y);
    else if (y + rowSize > top + clientHeight) this.scroll(y + rowSize - clientHeight);
    this.draw();
    return this.body.querySelector(`[data-row="${i}"]`);
  }
}

function headings(...texts) {
  const head = element('div', { className: 'tr head' }, ...texts.map(([id, text]) => element('div', { className: `cell ${id}`, textContent: text })));
  return head;
}

// CallTree is a tree of calls to open and close, the costliest first.
class CallTree {
  constructor(host, app) {
    this.app = app;
    this.open = new Set([0]);
    this.list = new RowList(host, 'Call tree', 'tree', headings(['total', 'Total'], ['self', 'Self'], ['name', 'Function']), (i) => this.row(i));
    host.addEventListener('keydown', (e) => this.key(e));
  }

  // show shows sums, with the children of each node; those of others are as open as they were where nothing else is shown.
  show(sums, children, unit) {
    if (sums !== this.sums) {
      this.sums = sums;
      this.children = children;
      this.open = new Set([0]);
      this.openHeaviest(0);
      this.list.at = 0;
    }
    this.unit = unit;
    this.fill();
  }

  // openHeaviest opens what is most of a node, down to where it spreads.
  openHeaviest(node) {
    const { at, children } = this.children, { width } = this.sums;
    for (let step = 0; step < 60 && at[node] < at[node + 1]; step++) {
      this.open.add(node);
      const next = children[at[node]];
      if (width[next] < width[0] / 4) return;
      node = next;
    }
  }

  fill() {
    const { at, children } = this.children, { width } = this.sums;
    this.nodes = [];
    this.levels = [];
    const stack = [[0, 0]];
    while (stack.length) {
      const [node, level] = stack.pop();
      if (node !== 0 && width[node] === 0) continue;
      this.nodes.push(node);
      this.levels.push(level);
      if (this.open.has(node)) for (let c = at[node + 1] - 1; c >= at[node]; c--) stack.push([children[c], level + 1]);
    }
    this.list.show(this.nodes.length, `${counted(this.nodes.length, 'row')}; right and left open and close, * all below`);
  }

  leaf(node) {
    const { at, children } = this.children;
    return at[node] === at[node + 1] || this.sums.width[children[at[node]]] === 0;
  }

  row(i) {
    const { app, sums: { tree, self, total }, unit } = this, node = this.nodes[i];
    const frame = tree.frame[node], kind = node === 0 ? null : frameKinds[app.kinds[frame]];
    const text = node === 0 ? 'all' : shown(app.p.nameText(app.p.nameOf(frame)));
    const cell = (id, value) => element('div', { className: `cell ${id}`, title: formatValue(value, unit) },
      app.table.bar(value / (total[0] || 1)), element('span', { textContent: formatShare(value, total[0]) }));
    const name = element('div', { className: 'cell name' });
    name.style.paddingLeft = `${8 + 14 * Math.min(this.levels[i], 60)}px`;
    name.append(element('i', { className: 'twist', textContent: this.leaf(node) ? '' : this.open.has(node) ? '▾' : '▸' }),
      ...kind ? [element('i', { className: `kind ${kind.id}`, textContent: kind.mark, title: kind.text })] : [],
      element('span', { textContent: text }));
    const row = element('div', { className: 'tr', title: text, onclick: () => this.toggle(i) },
      cell('total', total[node]), cell('self', self[node]), name);
    row.setAttribute('role', 'treeitem');
    row.setAttribute('aria-level', this.levels[i] + 1);
    row.setAttribute('aria-label', `${text}, total ${formatShare(total[node], total[0])}, self ${formatShare(self[node], total[0])}`);
    if (!this.leaf(node)) row.setAttribute('aria-expanded', this.open.has(node));
    if (app.matchOf) row.classList.add(app.matchOf[app.p.nameOf(frame)] && node !== 0 ? 'match' : 'other');
    if (node !== 0 && frame < app.p.frameName.length) row.dataset.name = app.p.frameName[frame];
    return row;
  }

  toggle(i, open = !this.open.has(this.nodes[i])) {
    const node = this.nodes[i];
    if (open) {
      this.openHeaviest(node);
      this.open.add(node);
    } else this.open.delete(node);
    this.fill();
    this.list.focus(i);
  }

  key(e) {
    const { list } = this, i = Number(e.target.dataset.row ?? list.at), node = this.nodes[i];
    const isOpen = this.open.has(node) && !this.leaf(node);
    if (e.key === 'ArrowRight' && !this.leaf(node)) isOpen ? list.focus(i + 1) : this.toggle(i, true);
    else if (e.key === 'ArrowLeft' && isOpen) this.toggle(i, false);
    else if (e.key === 'ArrowLeft') list.focus(Math.max(this.levels.lastIndexOf(this.levels[i] - 1, i), 0));
    else if (e.key === 'Enter' || e.key === ' ') this.toggle(i);
    else if (e.key === '*') this.openAll(i);
    else return;
    e.preventDefault();
    e.stopPropagation();
  }

  // openAll opens all below a row, as far as it can be read.
  openAll(i) {
    const { at, children } = this.children, stack = [this.nodes[i]];
    for (let n = 0; stack.length && n < 20000; n++) {
      const node = stack.pop();
      this.open.add(node);
      for (let c = at[node]; c < at[node + 1]; c++) if (this.sums.width[children[c]]) stack.push(children[c]);
    }
    this.fill();
    this.list.focus(i);
  }
}

// SampleList is the samples that pass, in the order of time.
class SampleList {
  constructor(host, app) {
    this.app = app;
    this.list = new RowList(host, 'Samples', 'list', headings(['when', 'Time'], ['size', 'Value'], ['name', 'Function'], ['labels', 'Labels']), (i) => this.row(i));
  }

  // show shows samples by their numbers.
  show(samples, tree, part, unit) {
    this.samples = samples;
    this.tree = tree;
    this.part = part;
    this.unit = unit;
    this.list.show(samples.length, counted(samples.length, 'sample'));
  }

  row(i) {
    const { app, tree, samples } = this, { p } = app, m = samples[i], r = p.moments.row[m];
    const node = tree.rowNode[r], frame = tree.frame[node];
    const labels = p.head.labels[p.rowLabels[r]], texts = [];
    for (let k = 0; k < labels.length; k += 2) texts.push(`${shown(p.head.keys[labels[k]])} ${shown(p.head.values[labels[k]][labels[k + 1]])}`);
    const name = node === 0 ? '' : shown(p.nameText(p.nameOf(frame)));
    const row = element('div', { className: 'tr', title: texts.join(', ') },
      element('div', { className: 'cell when', textContent: formatTime(p.moments.time[m]), title: `clock ${clockText(p, p.moments.time[m])}` }),
      element('div', { className: 'cell size', textContent: formatValue(this.part(m), this.unit) }),
      element('div', { className: 'cell name' }, element('span', { textContent: name })),
      element('div', { className: 'cell labels', textContent: texts.join(', ') }));
    row.setAttribute('role', 'listitem');
    if (node !== 0 && frame < p.frameName.length) row.dataset.name = p.frameName[frame];
    return row;
  }
}
