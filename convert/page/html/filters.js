// Filtering by labels. A filter is a Map from key to a Set of values, both as
// numbers: rows pass that have one of the values of each key in it.

const anyFilter = new Map();

// labelMask is 1 for each list of labels that passes. A row without a label has
// the value -1 for it. Key except, if given, is left out of account.
function labelMask(p, filter, except = -1) {
  const mask = new Uint8Array(p.head.labels.length).fill(1);
  for (const [key, values] of filter) {
    if (key === except || !values.size) continue;
    labelValues(p, key).forEach((v, i) => { if (!values.has(v)) mask[i] = 0; });
  }
  return mask;
}

// weighLabels is the sum of each value of a key, what has none last in place.
function weighLabels(p, { rowNode }, event, values, filter, key) {
  const mask = labelMask(p, filter, key);
  const of = labelValues(p, key);
  const n = p.head.values[key].length;
  const sums = new Float64Array(n + 1);
  for (let i = event.from; i < event.to; i++) {
    const list = p.rowLabels[i];
    if (mask[list] && rowNode[i] !== noNode) sums[of[list] < 0 ? n : of[list]] += values[i - event.from];
  }
  return sums;
}

// labelText is what a value of a key reads as; of a pid with its comm.
function labelText(p, key, value) {
  if (value < 0) return '(none)';
  return shown(p.head.values[key][value]) + commBeside(p, key, value);
}

function commBeside(p, key, value) {
  const name = p.head.keys[key], comm = p.head.keys.indexOf('comm');
  if (name !== 'pid' && name !== 'tid' || comm < 0) return '';
  p.comms ??= new Map();
  if (!p.comms.has(key)) {
    const of = labelValues(p, key), comms = labelValues(p, comm), found = new Map();
    of.forEach((v, i) => { if (comms[i] >= 0 && !found.has(v)) found.set(v, shown(p.head.values[comm][comms[i]])); });
    p.comms.set(key, found);
  }
  const found = p.comms.get(key).get(value);
  return found ? ` ${found}` : '';
}

const mostValues = 200; // listed at once

// FilterPanel is the lists of labels to choose from.
class FilterPanel {
  constructor(host, p, onChange) {
    this.host = host;
    this.p = p;
    this.onChange = onChange;
    this.find = new Map();
    this.open = new Set([0]);
    this.filter = anyFilter;
  }

  show(tree, event, values, filter, unit) {
    this.tree = tree;
    this.event = event;
    this.values = values;
    this.filter = filter;
    this.unit = unit;
    const keys = this.p.head.keys.map((name, key) => this.section(name, key));
    const clear = element('button', {
      type: 'button', className: 'clear', textContent: 'Clear all filters', disabled: !filter.size,
      onclick: () => this.onChange(new Map()),
    });
    this.host.replaceChildren(...keys, keys.length ? clear : element('p', { textContent: 'This profile has no labels to filter by.' }));
  }

  section(name, key) {
    const sums = weighLabels(this.p, this.tree, this.event, this.values, this.filter, key);
    const total = sums.reduce((a, b) => a + b, 0);
    const chosen = this.filter.get(key) ?? new Set();
    const values = [];
    const none = sums.length - 1;
    for (let i = 0; i <= none; i++) {
      const value = i === none ? -1 : i;
      if (sums[i] || chosen.has(value)) values.push({ value, sum: sums[i], text: labelText(this.p, key, value) });
    }
    values.sort((a, b) => b.sum - a.sum || a.value - b.value);
    const list = element('div', { className: 'choices' });
    const fill = () => {
      const wanted = (this.find.get(key) ?? '').toLowerCase();
      const found = values.filter((v) => v.text.toLowerCase().includes(wanted));
      list.replaceChildren(...found.slice(0, mostValues).map((v) => this.choice(key, v, total, chosen)));
      if (found.length > mostValues) {
        list.append(element('p', { textContent: `${wholeNumber.format(found.length - mostValues)} more: type to find them` }));
      }
    };
    fill();
    const section = element('details', { open: this.open.has(key) || chosen.size > 0 },
      element('summary', {}, element('span', { textContent: shown(name) }),
        element('small', { textContent: chosen.size ? `${chosen.size} of ${values.length}` : `${values.length}` })));
    section.addEventListener('toggle', () => { if (section.open) this.open.add(key); else this.open.delete(key); });
    if (values.length > 12) {
      section.append(element('input', {
        type: 'search', placeholder: `Find a ${name}`, value: this.find.get(key) ?? '',
        oninput: (e) => { this.find.set(key, e.target.value); fill(); },
      }));
    }
    section.append(list);
    return section;
  }

  choice(key, { value, sum, text }, total, chosen) {
    const box = element('input', { type: 'checkbox', checked: chosen.has(value) });
    box.addEventListener('change', () => {
      const values = new Set(chosen);
      if (box.checked) values.add(value);
      else values.delete(value);
      const filter = new Map(this.filter);
      if (values.size) filter.set(key, values);
      else filter.delete(key);
      this.onChange(filter);
    });
    return element('label', { title: formatValue(sum, this.unit) }, box,
      element('span', { textContent: text }), element('small', { textContent: formatShare(sum, total) }));
  }
}
