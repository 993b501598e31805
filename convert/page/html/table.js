// The table of functions.

class FunctionTable {
  // kindOf and placeOf tell of a function's number what it is and where it is from.
  constructor(host, { kindOf, placeOf, onPick, onSort }) {
    this.kindOf = kindOf;
    this.placeOf = placeOf;
    this.onPick = onPick;
    this.rows = [];
    this.names = [];
    this.heads = {};
    const head = (id, text) => {
      const button = element('button', { type: 'button', textContent: text, onclick: () => onSort(id) });
      this.heads[id] = element('div', { className: `cell ${id}` }, button);
      return this.heads[id];
    };
    const header = element('div', { className: 'tr head' }, head('self', 'Self'), head('total', 'Total'), head('name', 'Function'),
      element('div', { className: 'cell times', textContent: 'Self over time' }), element('div', { className: 'cell place', textContent: 'From' }));
    header.setAttribute('role', 'row');
    for (const cell of header.children) cell.setAttribute('role', 'columnheader');
    this.list = new RowList(host, 'Functions', 'rowgroup', header, (i) => this.row(this.rows[i], i));
    this.list.table.setAttribute('role', 'table');
    this.list.table.setAttribute('aria-label', 'Functions');
  }

  // show lists the functions that have something, or those that match.
  show(p, sums, { total, unit, sort, ascending, matches, picked, times }) {
    this.names = p.names;
    this.sums = sums;
    this.total = total;
    this.unit = unit;
    this.picked = picked;
    this.times = times;
    const rows = [];
    let all = 0;
    for (let i = 0; i < sums.some.length; i++) {
      if (!sums.some[i]) continue;
      all++;
      if (!matches || matches[i]) rows.push(i);
    }
    // Bars are as long as their part of the longest.
    this.most = { self: rows.reduce((a, i) => Math.max(a, sums.self[i]), 0), total: rows.reduce((a, i) => Math.max(a, sums.total[i]), 0) };
    const collator = new Intl.Collator('en');
    const by = {
      self: (a, b) => sums.self[b] - sums.self[a] || sums.total[b] - sums.total[a],
      total: (a, b) => sums.total[b] - sums.total[a] || sums.self[b] - sums.self[a],
      name: () => 0,
    }[sort];
    rows.sort((a, b) => by(a, b) || collator.compare(p.names[a], p.names[b]));
    if (ascending) rows.reverse();
    this.rows = rows;
    for (const [id, cell] of Object.entries(this.heads)) {
      cell.setAttribute('aria-sort', id !== sort ? 'none' : ascending !== (id === 'name') ? 'ascending' : 'descending');
    }
    this.list.table.setAttribute('aria-rowcount', rows.length + 1);
    this.list.show(rows.length, matches
      ? `${wholeNumber.format(rows.length)} of ${counted(all, 'function')} match`
      : counted(all, 'function'));
  }

  row(name, i) {
    const { sums, total, unit } = this;
    const text = shown(this.names[name]), place = this.placeOf(name);
    const kind = frameKinds[this.kindOf(name)];
    const cell = (id, value) => element('div', { className: `cell ${id}`, title: formatValue(value, unit) },
      this.bar(value / this.most[id]), element('em', { textContent: formatValue(value, unit) }),
      element('span', { textContent: this.share(value, total) }));
    const mark = element('i', { className: `kind ${kind.id}`, textContent: kind.mark, title: kind.text });
    const row = element('button', { type: 'button', className: 'tr', title: place ? `${text}\n${place}` : text, onclick: () => this.onPick(name) },
      cell('self', sums.self[name]), cell('total', sums.total[name]),
      element('div', { className: 'cell name' }, mark, element('span', { textContent: text })),
      element('div', { className: 'cell times' }, this.times?.has(name) ? sparkline(this.times.get(name)) : ''),
      element('div', { className: 'cell place', textContent: place }));
    row.setAttribute('role', 'row');
    row.setAttribute('aria-rowindex', i + 2);
    for (const cell of row.children) cell.setAttribute('role', 'cell');
    row.dataset.name = name;
    if (name === this.picked) row.classList.add('picked');
    return row;
  }

  share(value, total) { return formatShare(value, total); }

  bar(share) {
    const bar = element('b', { className: 'bar' });
    bar.style.width = `${Math.min(Math.max(100 * share, 0), 100) || 0}%`;
    return bar;
  }
}
